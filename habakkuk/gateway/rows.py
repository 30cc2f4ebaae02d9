"""The ids and rows that a message becomes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from habakkuk.conversations.types import (
    TARGET,
    Acceptance,
    Accepted,
    Address,
    Author,
    ChatKind,
    ChatState,
    NewChatMessage,
)
from habakkuk.core.ids import derive, random_id
from habakkuk.gateway.types import Admitted, Inbound


def conversation_id(address: Address) -> str:
    """Return the id of the conversation at an address."""
    return derive("conv", address.channel, address.account, address.chat, address.thread)


def turn_id(inbound: Inbound) -> str:
    """Return the id of the turn that a message opens: the same when it comes again."""
    if inbound.remote_id is None:
        return random_id("turn")
    address = inbound.address
    return derive("turn", address.channel, address.account, inbound.remote_id)


def reply_to(inbound: Inbound) -> dict[str, Any]:
    """Return what a turn keeps of where its answer goes and whether somebody can be asked."""
    attended = {"attended": True} if inbound.attended else {}
    outside = {TARGET: asdict(inbound.target)} if inbound.target else {}
    return {**inbound.reply_to, **attended, **outside}


def command_row(inbound: Inbound) -> NewChatMessage:
    """Return the row of a command that somebody wrote."""
    return NewChatMessage(
        Author.USER,
        inbound.text,
        ChatState.TAKEN,
        ChatKind.COMMAND,
        user_id=inbound.user.id,
        account=inbound.address.account,
        remote_id=inbound.remote_id,
    )


def answer_row(inbound: Inbound, turn: str) -> NewChatMessage:
    """Return the row of what somebody answered to a question of a turn."""
    return NewChatMessage(
        Author.USER,
        inbound.text,
        ChatState.TAKEN,
        user_id=inbound.user.id,
        account=inbound.address.account,
        remote_id=inbound.remote_id,
        turn_id=turn,
    )


def reply_row(inbound: Inbound, text: str) -> NewChatMessage:
    """Return the row of what a command answers."""
    return NewChatMessage(
        Author.SYSTEM, text, ChatState.SENT, ChatKind.COMMAND, target=inbound.target
    )


def note_row(inbound: Inbound, turn: str) -> NewChatMessage:
    """Return the row of what Habakkuk says of a turn, to which nobody answers."""
    return NewChatMessage(
        Author.SYSTEM,
        inbound.text,
        ChatState.SENT,
        ChatKind.NOTICE,
        account=inbound.address.account,
        remote_id=inbound.remote_id,
        turn_id=turn,
        target=inbound.target,
    )


def notice_row(inbound: Inbound, said: str) -> NewChatMessage:
    """Return the row of what is said of a message, wherever its answers go."""
    return NewChatMessage(
        Author.SYSTEM, said, ChatState.SENT, ChatKind.NOTICE, target=inbound.target
    )


def admitted(asked: Acceptance, accepted: Accepted) -> Admitted:
    """Return what an intake learns of a message that was accepted."""
    return Admitted(
        accepted.conversation_id,
        accepted.session_id,
        accepted.seq,
        asked.turn_id,
        agent=accepted.agent,
        at=accepted.at,
    )
