"""What a model saw, as JSON."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from habakkuk.agent.inspection import Inspection, Part
from habakkuk.conversations.store.inspections import SeenCall
from web.api.bodies import Amount, Id, Query


class InspectQuery(Query):
    """Which turn; the session's latest without one."""

    turn: Id | None = None


class PartBody(BaseModel):
    """One part of a request. `kind`: prompt, tools, summary or message; `tokens` are our guess.

    `seq` is a message's place in the transcript; `cut` says that it was sent shorter than it is
    stored; `excerpt` is how it begins.
    """

    kind: str
    name: str
    tokens: int
    excerpt: str
    seq: int | None
    cut: bool

    @classmethod
    def of(cls, part: Part) -> PartBody:
        """Return a part as clients see it."""
        return cls(
            kind=part.kind,
            name=part.name,
            tokens=part.tokens,
            excerpt=part.excerpt,
            seq=part.seq,
            cut=part.cut,
        )


class SeenCallBody(BaseModel):
    """One model call of the turn. `cost` in USD as text, null where no price is known."""

    at: datetime
    model: str
    purpose: str
    outcome: str
    input: int
    cached: int
    output: int
    seconds: float
    first_token: float | None
    cost: Amount | None

    @classmethod
    def of(cls, call: SeenCall) -> SeenCallBody:
        """Return a call as clients see it."""
        return cls(
            at=call.at,
            model=call.model,
            purpose=call.purpose,
            outcome=call.outcome,
            input=call.input,
            cached=call.cached,
            output=call.output,
            seconds=call.seconds,
            first_token=call.first_token,
            cost=call.cost,
        )


class InspectionBody(BaseModel):
    """What the last call of a turn was sent.

    `counted` and `cached` are the provider's own numbers, null where it gave none; `tokens` is the
    guess of all parts together. `left_out` messages stand behind the summary. `recalled` is what
    memory added.
    """

    session: str
    turn: str
    tokens: int
    counted: int | None
    cached: int | None
    left_out: int
    parts: list[PartBody]
    recalled: list[str]
    calls: list[SeenCallBody]

    @classmethod
    def of(cls, found: Inspection) -> InspectionBody:
        """Return an inspection as clients see it."""
        return cls(
            session=found.session.id,
            turn=found.turn,
            tokens=found.tokens,
            counted=found.counted,
            cached=found.cached,
            left_out=found.left_out,
            parts=[PartBody.of(part) for part in found.parts],
            recalled=list(found.recalled),
            calls=[SeenCallBody.of(call) for call in found.calls],
        )
