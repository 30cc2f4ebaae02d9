"""What a model's finished answer is to its turn, and which messages are the turn's own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from habakkuk.agent.compaction.plan import begins_turn
from habakkuk.agent.endings import visible
from habakkuk.conversations.types import StoredMessage
from habakkuk.llm.types import Finished, Message, Role, StopReason, Text


def own_of(stored: Sequence[StoredMessage], turn_id: str) -> Sequence[StoredMessage]:
    """Return what is of a turn itself, its request first where that is kept.

    A session that came with a history has that from its first turn's job, too: it is no step of it.
    """
    # Nothing of another turn stands between them: a session has one at a time.
    own = list(takewhile(lambda item: item.job_id == turn_id, reversed(stored)))[::-1]
    requests = [place for place, item in enumerate(own) if begins_turn(item.message)]
    return own[requests[-1] :] if requests else own


def meta_of(finished: Finished) -> dict[str, Any]:
    """Return what is noted of an answer beside its words: who gave it, and its tokens."""
    used = finished.usage
    return {
        "model": str(finished.model),
        "tokens": used.input + used.output if used.window is None else used.window,
        "input": used.input,
        "cached": used.cache_read,
        "output": used.output,
    }


def is_blank(finished: Finished) -> bool:
    """Whether nothing came that a person or the turn can use, for no reason that explains it."""
    if finished.stop in (StopReason.LENGTH, StopReason.REFUSAL):
        return False
    if finished.stop is StopReason.PAUSE and finished.blocks:
        # A provider's own tools run; it goes on where it paused.
        return False
    return not visible(finished.blocks) and not Message(Role.ASSISTANT, finished.blocks).calls


def in_brackets(text: str) -> Message:
    """Return an assistant message for a turn that ends without one, so that roles alternate."""
    return Message(Role.ASSISTANT, (Text(text=f"[{text}]"),))
