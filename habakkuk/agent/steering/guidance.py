"""Give guidance to a turn that runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from habakkuk.agent.steering import store
from habakkuk.conversations.store import chat
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage
from habakkuk.db.engine import Work


@dataclass(frozen=True)
class Guidance:
    """What a person, or a program, adds; `data` is what its row keeps beside the text."""

    text: str
    user_id: str
    data: dict[str, Any] = field(default_factory=dict)


def guide(work: Work, conversation_id: str, turn_id: str, added: Guidance) -> None:
    """Queue what is added for a turn that has begun. The conversation is locked by `work`."""
    row = NewChatMessage(
        Author.USER,
        added.text,
        ChatState.QUEUED,
        ChatKind.STEER,
        added.data,
        user_id=added.user_id,
        turn_id=turn_id,
    )
    chat.add(work, conversation_id, row)
    store.steer(work, conversation_id, turn_id)
