"""The ends of a turn: each is one transaction, and each leaves something that the user sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from habakkuk.agent import turn_hooks
from habakkuk.agent.run import TurnRun
from habakkuk.agent.steering.rest import settled, with_news
from habakkuk.conversations.store import hotpath, transcript
from habakkuk.conversations.types import (
    Author,
    ChatKind,
    ChatState,
    NewChatMessage,
    Outcome,
)
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.core.text import clean
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
    is none; `notice` is what Habakkuk says beside or instead of it; `meta` is noted beside them.
    """

    outcome: Outcome
    step: int
    messages: Sequence[Message] = ()
    body: str = ""
    notice: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)


def end_turn(run: TurnRun, ending: Ending) -> None:
    """Write the end: transcript, chat row, turn and job together.

    Raises Interrupted(LEASE_LOST) when another worker owns the turn by now.
    """
    context = run.context
    ending = _redacted(run, ending)
    context.failpoints.hit("turn.end.before")
    written = hotpath.TurnEnd(
        ending.outcome,
        _STATES[ending.outcome],
        ending.step,
        ending.messages,
        replace(_chat_message(ending), target=run.turn.target),
        ending.error,
        ending.meta,
    )
    more = hotpath.end(context.database, run.turn, context.fence, written, run.spent.calls)
    run.spent.empty()
    while more is None and settled(run, ending.outcome):
        more = hotpath.end(context.database, run.turn, context.fence, written)
    if more is None:
        raise Interrupted(Reason.LEASE_LOST)
    context.failpoints.hit("turn.end.after")
    context.finished_elsewhere(more=more)
    run.events.emit(EventType.TURN_ENDED, ending.step, outcome=ending.outcome)
    run.ports.signs.ended(run.turn.target, ending.outcome)
    turn_hooks.ended(run, ending.outcome, written.shown.body)


def append(run: TurnRun, step: int, message: Message, meta: dict[str, Any]) -> tuple[Message, bool]:
    """Append one message of a turn that goes on, and return it with what came for it meanwhile.

    And whether the turn is to pause by now, or that is not known: after a step without calls.
    """
    context = run.context
    context.failpoints.hit("turn.append.before")
    with context.database.transaction() as work:
        context.guard_change(work)
        for statement, row in run.spent.calls:
            work.defer(statement, **row)
        work.after_commit(run.spent.empty)
        message, news = with_news(work, run, message)
        transcript.append(work, run.turn.session_id, run.turn.id, step, message, meta)
        context.progressed(work)
    context.failpoints.hit("turn.append.after")
    run.events.emit(EventType.STEP_DONE, step)
    if news is not None and news.guidance:
        run.events.emit(EventType.QUEUE_CHANGED, step)
    return message, not message.calls if news is None else news.paused


def _redacted(run: TurnRun, ending: Ending) -> Ending:
    """Take secrets out of what Habakkuk says itself: services repeat keys in their errors.

    And what cannot be stored: an end that cannot be written is a turn that hangs.
    """
    redactor = run.ports.redactor
    error = None if ending.error is None else clean(redactor.text(ending.error))
    return replace(ending, notice=clean(redactor.text(ending.notice)), error=error)


def _chat_message(ending: Ending) -> NewChatMessage:
    data = dict(ending.data)
    if not ending.body:
        kind = ChatKind.ERROR if ending.outcome is Outcome.FAILED else ChatKind.NOTICE
        return NewChatMessage(Author.SYSTEM, ending.notice, ChatState.SENT, kind, data)
    if ending.notice:
        data["notice"] = ending.notice
    if ending.outcome is not Outcome.ANSWERED:
        data["partial"] = True
    return NewChatMessage(Author.AGENT, ending.body, ChatState.SENT, data=data)


def visible(blocks: Sequence[Block]) -> str:
    """Return the text of blocks as a person reads it."""
    return "".join(block.text for block in blocks if block.type == "text").strip()
