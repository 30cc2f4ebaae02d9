"""The shapes of conversations and of work as pages show them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field

from habakkuk.conversations.store.activity import Activity
from habakkuk.conversations.store.shelf import Shelved
from habakkuk.conversations.store.steps import ShownCall, ShownTurn, Step
from habakkuk.jobs.types import Job
from web.api.bodies import Body, ConversationName, MessageBody, Query


class ShelfQuery(Query):
    """Which conversations: those that hold the words `q`, else a page of the list."""

    q: str = Field(default="", max_length=200)
    archived: bool = False
    limit: int = Field(default=50, ge=1, le=200)
    before: AwareDatetime | None = None


class NameBody(Body):
    """What to change: a title set by hand (empty: the automatic one), or where it lies."""

    title: str | None = None
    archived: bool | None = None


class TextBody(Body):
    """The new text of a message."""

    text: str


class MessagePath(BaseModel):
    """A conversation and the number of one of its messages."""

    conversation: ConversationName
    id: int = Field(ge=1, le=2**62)


class FilePath(BaseModel):
    """A conversation, the number of one of its messages, and of a file there, from 0."""

    conversation: ConversationName
    id: int = Field(ge=1, le=2**62)
    number: int = Field(ge=0, le=1000)


class CallQuery(Query):
    """Which call of a turn."""

    call: str = Field(min_length=1, max_length=500)


class HitBody(BaseModel):
    """Where a search found its words."""

    seq: int
    excerpt: str


class ShelvedBody(BaseModel):
    """One conversation of a list. `named`: its title was set by hand.

    `busy`: null when nothing is being answered, else pending, running, waiting (for a person) or
    paused.
    """

    conversation: str
    agent: str
    title: str | None
    named: bool
    archived: bool
    busy: str | None
    last_seq: int
    updated: datetime
    hit: HitBody | None

    @classmethod
    def of(cls, row: Shelved, conversation: str) -> ShelvedBody:
        """Return a row as clients see it."""
        return cls(
            conversation=conversation,
            agent=row.agent,
            title=row.title,
            named=row.named,
            archived=row.archived,
            busy=row.busy,
            last_seq=row.last_seq,
            updated=row.updated,
            hit=HitBody(seq=row.hit.seq, excerpt=row.hit.excerpt) if row.hit else None,
        )


class ShelfBody(BaseModel):
    """A page of the list, newest first; `total` counts what the list has, 0 for a search."""

    conversations: list[ShelvedBody]
    total: int


class CallBody(BaseModel):
    """One tool call. `input` is null when it is too long: `input_text` is how its JSON begins.

    `result` is cut at 4,000 characters; `length` is that of the whole. `started` is null as long
    as it has not begun to run.
    """

    id: str
    name: str
    state: str
    input: dict[str, Any] | None
    input_text: str
    result: str | None
    length: int | None
    error: bool
    started: datetime | None
    finished: datetime | None

    @classmethod
    def of(cls, call: ShownCall) -> CallBody:
        """Return a call as clients see it."""
        return cls(
            id=call.id,
            name=call.name,
            state=call.state,
            input=call.input,
            input_text=call.input_text,
            result=call.result,
            length=call.length,
            error=call.is_error,
            started=call.started,
            finished=call.finished,
        )


class StepBody(BaseModel):
    """What the agent said and called in one step before its answer."""

    step: int
    text: str
    calls: list[CallBody]

    @classmethod
    def of(cls, step: Step) -> StepBody:
        """Return a step as clients see it."""
        return cls(
            step=step.number, text=step.text, calls=[CallBody.of(call) for call in step.calls]
        )


class ShownTurnBody(BaseModel):
    """A turn: `state` is queued, running, waiting or ended, then with `outcome`.

    `paused`: it waits until it is resumed.
    """

    id: str
    state: Literal["queued", "running", "waiting", "ended"]
    outcome: str | None
    began: datetime | None
    ended: datetime | None
    steps: list[StepBody]
    paused: bool

    @classmethod
    def of(cls, turn: ShownTurn) -> ShownTurnBody:
        """Return a turn as clients see it."""
        return cls(
            id=turn.id,
            state=_state(turn),
            outcome=turn.outcome,
            began=turn.began,
            ended=turn.ended,
            steps=[StepBody.of(step) for step in turn.steps],
            paused=turn.paused,
        )


def _state(turn: ShownTurn) -> Literal["queued", "running", "waiting", "ended"]:
    if turn.ended is not None:
        return "ended"
    if turn.state == "waiting":
        return "waiting"
    return "running" if turn.began is not None else "queued"


class OpenBody(BaseModel):
    """What is still to be answered: turns in order, and the messages that wait.

    `withdrawn`: the numbers of messages that will have no answer, as far as they are new.
    """

    open: list[ShownTurnBody]
    queued: list[MessageBody]
    withdrawn: list[int]


class ChoiceShownBody(BaseModel):
    """Which model answers in a session: `own` is its agent's; the others are null if not chosen."""

    own: str | None
    model: str | None
    effort: str | None


class PageBody(BaseModel):
    """A conversation with its newest messages, oldest first, and the turns that they belong to.

    `earlier`: there are older messages.
    """

    conversation: ShelvedBody
    session: str
    choice: ChoiceShownBody
    messages: list[MessageBody]
    earlier: bool
    turns: list[ShownTurnBody]
    open: list[ShownTurnBody]


class WholeCallBody(BaseModel):
    """One tool call, uncut."""

    input: dict[str, Any]
    result: str


class ActivityBody(BaseModel):
    """One turn of an overview; `conversation` is null when it is not this person's own chat.

    `paused`: it waits until it is resumed.
    """

    turn: str
    conversation: str | None
    channel: str
    title: str
    agent: str
    state: str
    paused: bool
    created: datetime
    began: datetime | None
    ended: datetime | None
    error: str | None

    @classmethod
    def of(cls, row: Activity, conversation: str | None) -> ActivityBody:
        """Return a row as clients see it."""
        return cls(
            turn=row.id,
            conversation=conversation,
            channel=row.channel,
            title=row.title,
            agent=row.agent,
            state=row.state,
            paused=row.paused,
            created=row.created,
            began=row.began,
            ended=row.ended,
            error=row.error,
        )


class TierBody(BaseModel):
    """One part of the server: how it is, what that means, and what to do about it."""

    name: str
    state: Literal["ok", "degraded", "down"]
    line: str
    fix: str | None


class OverviewBody(BaseModel):
    """What goes on, and how the server is.

    `waiting` is for an answer, `paused` until somebody resumes it.
    """

    sentence: str
    running: list[ActivityBody]
    paused: list[ActivityBody]
    waiting: list[ActivityBody]
    queued: list[ActivityBody]
    failed: list[ActivityBody]
    health: list[TierBody]


class JobsQuery(Query):
    """Which jobs: a group of states, a kind; older than the job numbered `before`."""

    state: Literal["open", "pending", "running", "waiting", "failed", "aside", "ended", "all"] = (
        "open"
    )
    kind: str | None = Field(default=None, max_length=100)
    limit: int = Field(default=100, ge=1, le=500)
    before: int | None = Field(default=None, ge=1, le=2**62)


class JobBody(BaseModel):
    """One job. `aside`: it killed its workers and is not tried again by itself."""

    id: str
    kind: str
    queue: str
    key: str | None
    state: str
    aside: bool
    cancelling: bool
    attempt: int
    max_attempts: int
    crashes: int
    owner: str | None
    error: str | None
    created: datetime
    run_at: datetime
    finished: datetime | None

    @classmethod
    def of(cls, job: Job, *, aside: bool) -> JobBody:
        """Return a job as clients see it."""
        return cls(
            id=job.id,
            kind=job.kind,
            queue=job.queue,
            key=job.serial_key,
            state=str(job.state),
            aside=aside,
            cancelling=job.cancel_requested and job.state.alive,
            attempt=job.attempt,
            max_attempts=job.max_attempts,
            crashes=job.crashes,
            owner=job.owner,
            error=job.error,
            created=job.created,
            run_at=job.run_at,
            finished=job.finished,
        )


class JobsBody(BaseModel):
    """Jobs, newest first, and how many are in each state that matters.

    `before`: what to ask for to see older ones; null when there are none.
    """

    jobs: list[JobBody]
    before: int | None
    counts: dict[str, int]


class DoneBody(BaseModel):
    """What became of a change."""

    done: str
