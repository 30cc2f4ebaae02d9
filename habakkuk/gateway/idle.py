"""A fresh session after a long time without a word."""

from __future__ import annotations

from dataclasses import replace

from habakkuk.conversations.store import addresses, chat
from habakkuk.conversations.types import (
    Author,
    ChatKind,
    ChatState,
    Conversation,
    NewChatMessage,
)
from habakkuk.core.ids import random_id
from habakkuk.db.engine import Work
from habakkuk.gateway.store import quiet
from habakkuk.gateway.types import Inbound

_FRESH = "It has been quiet here for long: this starts a new session."


def renewed(work: Work, conversation: Conversation, inbound: Inbound) -> Conversation:
    """Return the conversation with a fresh session when it was idle for as long as is configured.

    `work` has locked it. The person is told in a line, the model is not: to it the session is new.
    """
    if inbound.idle is None or inbound.session_id is not None:
        return conversation
    if not quiet.idle(work, conversation.id, inbound.idle):
        return conversation
    fresh = replace(conversation, session_id=random_id("ses"))
    addresses.add_session(work, fresh, fresh.session_id)
    addresses.point(work, fresh.id, fresh.session_id, fresh.agent)
    row = NewChatMessage(
        Author.SYSTEM, _FRESH, ChatState.SENT, ChatKind.NOTICE, target=inbound.target
    )
    chat.add(work, fresh.id, row)
    return fresh
