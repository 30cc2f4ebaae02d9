"""What a model is sent of a session: the summary, the open request, and what was kept."""

from __future__ import annotations

from habakkuk.agent.compaction.plan import with_short_results
from habakkuk.conversations.types import Compaction, StoredMessage, Transcript
from habakkuk.llm.types import Message, Role, Text

_LEAD = "[What was said before, summed up. The rest of this conversation follows.]\n"


def view(transcript: Transcript) -> list[Message]:
    """Return the messages as they are sent; the same for the same transcript, to the letter."""
    record = transcript.compaction
    kept = [_shown(item, record) for item in transcript.messages]
    if transcript.request is not None:
        kept.insert(0, transcript.request.message)
    if record is None or not record.summary:
        return kept
    summary = Text(text=f"{_LEAD}{record.summary}\n\n")
    if kept and kept[0].role is Role.USER:
        # Roles alternate.
        return [Message(Role.USER, (summary, *kept[0].blocks)), *kept[1:]]
    return [Message(Role.USER, (summary,)), *kept]


def _shown(item: StoredMessage, record: Compaction | None) -> Message:
    if record is None or item.seq > record.transcript_length:
        return item.message
    return with_short_results(item.message, record.result_limit)
