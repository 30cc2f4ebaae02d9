"""The ends of a turn: each is one transaction, and each leaves something that the user sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import addresses, chat, transcript, turns
from habakkuk.conversations.types import (
    Author,
    ChatKind,
    ChatState,
    NewChatMessage,
    Outcome,
)
from habakkuk.events.types import EventType
from habakkuk.jobs.types import JobState
from habakkuk.llm.types import Block, Message

_STATES = {
    Outcome.ANSWERED: JobState.DONE,
    Outcome.PARTIAL: JobState.DONE,
    Outcome.FAILED: JobState.FAILED,
    Outcome.CANCELLED: JobState.CANCELLED,
}


@dataclass(frozen=True)
class Ending:
    """What a turn ends with.

    `messages` go to the transcript from `step` on. `body` is the agent's answer, empty when there
    is none; `notice` is what Habakkuk says beside or instead of it.
    """

    outcome: Outcome
    step: int
    messages: Sequence[Message] = ()
    body: str = ""
    notice: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


def end_turn(run: TurnRun, ending: Ending) -> None:
    """Write the end: transcript, chat row, turn and job together.

    Raises Interrupted(LEASE_LOST) when another worker owns the turn by now.
    """
    turn, context = run.turn, run.context
    context.failpoints.hit("turn.end.before")
    with context.database.transaction() as work:
        addresses.lock_by_id(work, turn.conversation_id)
        context.guard_change(work)
        for offset, message in enumerate(ending.messages):
            step = ending.step + offset
            transcript.append(work, turn.session_id, turn.id, step, message)
        seq = chat.add(work, turn.conversation_id, _chat_message(turn.id, ending))
        turns.end(work, turn.id, ending.outcome, seq)
        context.finish(work, _STATES[ending.outcome], result={"reply_seq": seq}, error=ending.error)
    context.failpoints.hit("turn.end.after")
    run.events.emit(EventType.TURN_ENDED, ending.step, outcome=ending.outcome)


def append(run: TurnRun, step: int, role_blocks: Message, meta: dict[str, Any]) -> None:
    """Append one message of a turn that goes on."""
    context = run.context
    context.failpoints.hit("turn.append.before")
    with context.database.transaction() as work:
        context.guard_change(work)
        transcript.append(work, run.turn.session_id, run.turn.id, step, role_blocks, meta)
        context.progressed(work)
    context.failpoints.hit("turn.append.after")
    run.events.emit(EventType.STEP_DONE, step)


def _chat_message(turn_id: str, ending: Ending) -> NewChatMessage:
    data = dict(ending.data)
    if not ending.body:
        kind = ChatKind.ERROR if ending.outcome is Outcome.FAILED else ChatKind.NOTICE
        return NewChatMessage(
            Author.SYSTEM, ending.notice, ChatState.SENT, kind, data, turn_id=turn_id
        )
    if ending.notice:
        data["notice"] = ending.notice
    if ending.outcome is not Outcome.ANSWERED:
        data["partial"] = True
    return NewChatMessage(Author.AGENT, ending.body, ChatState.SENT, data=data, turn_id=turn_id)


def visible(blocks: Sequence[Block]) -> str:
    """Return the text of blocks as a person reads it."""
    return "".join(block.text for block in blocks if block.type == "text").strip()
