"""Give guidance to a turn that runs."""

from __future__ import annotations

from habakkuk.agent.steering import store
from habakkuk.conversations.store import chat
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage
from habakkuk.db.engine import Work


def guide(work: Work, conversation_id: str, turn_id: str, user_id: str, text: str) -> None:
    """Queue what a person adds for a turn that has begun. The conversation is locked by `work`."""
    row = NewChatMessage(
        Author.USER,
        text,
        ChatState.QUEUED,
        ChatKind.STEER,
        user_id=user_id,
        turn_id=turn_id,
    )
    chat.add(work, conversation_id, row)
    store.steer(work, conversation_id, turn_id)
