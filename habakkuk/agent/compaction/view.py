"""What a model is sent of a session: the summary, the open request, and what was kept."""

from __future__ import annotations

from habakkuk.agent.compaction.plan import with_short_results
from habakkuk.conversations.types import Compaction, StoredMessage, Transcript
from habakkuk.llm.types import Message, Role, Text

_LEAD = "[What was said before, summed up. The rest of this conversation follows.]\n"


def view(transcript: Transcript) -> list[Message]:
    """Return the messages as they are sent; the same for the same transcript, to the letter."""
    record = transcript.compaction
    if record is None or record.result_limit is None:
        kept = [item.message for item in transcript.messages]
    else:
        kept = [_shown(item, record) for item in transcript.messages]
    if transcript.request is not None:
        kept.insert(0, transcript.request.message)
    if record is None or not record.summary:
        return kept
    if kept and kept[0].role is Role.USER:
        # Roles alternate.
        return [_after(record.summary, kept[0]), *kept[1:]]
    return [Message(Role.USER, (_told(record.summary),)), *kept]


def _after(summary: str, first: Message) -> Message:
    """Return the first message that is kept with the summary before it; kept with that one."""
    key = f"after {summary}"
    found: Message | None = first.forms.get(key)
    if found is None:
        found = first.forms[key] = Message(Role.USER, (_told(summary), *first.blocks))
    return found


def _told(summary: str) -> Text:
    return Text(text=f"{_LEAD}{summary}\n\n")


def _shown(item: StoredMessage, record: Compaction) -> Message:
    if item.seq > record.transcript_length:
        return item.message
    return with_short_results(item.message, record.result_limit)
