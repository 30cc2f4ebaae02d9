"""The ids and rows that a message becomes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from habakkuk.agent.turn import TURN_KIND
from habakkuk.conversations.files import AWAITED, FILES, UNPLACED
from habakkuk.conversations.store.chat import Earlier
from habakkuk.conversations.types import (
    BOT,
    OUTSIDE,
    TARGET,
    UNREAD,
    WRITER,
    Acceptance,
    Accepted,
    Address,
    Author,
    ChatKind,
    ChatState,
    NewChatMessage,
)
from habakkuk.core.config.schema import Config
from habakkuk.core.ids import derive, random_id
from habakkuk.gateway.types import Admitted, Inbound
from habakkuk.jobs.types import Queue


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


def acceptance(inbound: Inbound, config: Config) -> Acceptance:
    """Return what is to be accepted: the message, and the turn that it opens."""
    return Acceptance(
        address=inbound.address,
        message=NewChatMessage(
            Author.SYSTEM if inbound.event else Author.USER,
            inbound.text,
            ChatState.QUEUED,
            ChatKind.EVENT if inbound.event else ChatKind.MESSAGE,
            user_id=inbound.user.id,
            remote_id=inbound.remote_id,
            data=_data(inbound),
        ),
        turn_id=turn_id(inbound),
        agents=[named] if (named := inbound.agent or inbound.routed) else list(config.agents),
        origin=inbound.origin,
        reply_to=reply_to(inbound),
        payload={"seed": inbound.seed} if inbound.seed else {},
        kind=TURN_KIND,
        queue=str(Queue.TURNS),
        session_id=inbound.session_id,
        joinable=inbound.joinable,
        delay=config.gateway.burst_window if inbound.joinable else 0.0,
        answers=may_be_answer(inbound),
    )


def may_be_answer(inbound: Inbound) -> bool:
    """Whether a message may answer a question at all: what a person wrote, and nothing beside."""
    return inbound.commands and not inbound.event and not inbound.file_count


def _data(inbound: Inbound) -> dict[str, Any]:
    """Return what a message's row keeps beside its text."""
    known: dict[str, Any] = {
        FILES: [asdict(file) for file in inbound.files],
        AWAITED: [asdict(file) for file in inbound.awaited],
        UNPLACED: inbound.unplaced,
        OUTSIDE: inbound.outside,
        WRITER: inbound.writer,
        UNREAD: list(inbound.unread),
        BOT: inbound.bot,
    }
    return {name: value for name, value in known.items() if value}


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
        data=_data(inbound),
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


def repeated(found: Earlier) -> Admitted:
    """Return what became of a message that came before."""
    return Admitted(
        found.conversation_id,
        found.session_id,
        found.seq,
        found.turn_id,
        found.reply,
        duplicate=True,
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
        behind=accepted.behind,
    )
