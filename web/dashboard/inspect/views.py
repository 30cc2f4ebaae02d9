"""What the model saw in a turn, and the calls of models that the turn made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from flask import Blueprint, render_template, request
from pydantic import ValidationError

from habakkuk.accounts.types import Principal, Scope
from habakkuk.agent.inspection import Inspection, Part
from habakkuk.conversations.budgets import dollars
from habakkuk.conversations.reports import UNKNOWN, cost_words
from habakkuk.conversations.store.inspections import SeenCall
from habakkuk.conversations.store.reports import Spent
from habakkuk.conversations.types import Turn
from habakkuk.core.errors import NotFound
from habakkuk.llm.types import Usage
from web.api.bodies import IdPath
from web.api.chat import CHANNEL
from web.guards import needs
from web.site import container, principal

page = Blueprint("inspect_page", __name__, template_folder="templates")
# A long session's page stays one that a phone can show.
_NEWEST = 100
_LEAST = 0.1
_IN_TENTHS = 9.95
_NAMES = {"user": "User message", "assistant": "Answer"}
# As the turn writes it before a message; in an excerpt it stands on the same line.
_NOTE = re.compile(r"(\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d [^\]]{1,40}\]) ")
_KINDS = {"message": "messages"}
_PURPOSES = {"answer": "", "compaction": "to sum up"}


@dataclass(frozen=True)
class Row:
    """One part as the page has it. `share`: which part of the whole it is, from 0 to 1.

    `note` is the time that its first line says, apart, so that the words have their own direction.
    """

    title: str
    part: Part
    share: float
    note: str
    words: str


@dataclass(frozen=True)
class Seen:
    """What was sent, in its order: `first`, then `earlier` messages as one sum, then `messages`."""

    told: Inspection
    first: Sequence[Row]
    earlier: Sequence[Row]
    messages: Sequence[Row]

    @property
    def summary(self) -> bool:
        """Whether a summary stands for what was left out."""
        return any(row.part.kind == "summary" for row in self.first)

    @property
    def kinds(self) -> Sequence[tuple[str, float]]:
        """Return what it was made of, as (word, share) in its order."""
        rows = [*self.first, *self.earlier, *self.messages]
        shares = dict.fromkeys((row.part.kind for row in rows), 0.0)
        for row in rows:
            shares[row.part.kind] += row.share
        return [(_KINDS.get(kind, kind), share) for kind, share in shares.items()]


@page.get("/inspect/<turn>")
@needs(Scope.READ)
def one(turn: str) -> str:
    """Show what a turn's last call was sent; without an answer, the calls alone."""
    found = _turn(principal(), turn)
    seen = _seen(principal(), found)
    calls = container().inspections().calls(principal(), found.id)
    return render_template(
        "inspect/index.html",
        turn=found,
        seen=seen,
        sentence=sentence(seen.told if seen else None, found),
        calls=calls,
        together=_together(calls),
        conversation=_conversation(principal(), found),
        purpose=lambda call: _PURPOSES.get(call.purpose, call.purpose),
        outcome=lambda call: call.outcome.replace("_", " "),
        cost=lambda call: UNKNOWN if call.cost is None else dollars(call.cost),
        took=took,
    )


def sentence(told: Inspection | None, turn: Turn) -> str:
    """Return in one sentence how much the model read."""
    if told is None:
        return f"No model has answered in this turn{'' if turn.ended else ' yet'}."
    if not told.counted:
        return f"About {told.tokens:,} tokens. This is our guess: the provider gave no count."
    if not told.cached:
        return f"{told.counted:,} tokens, none of them from the provider's cache."
    share = told.cached / told.counted
    return (
        f"{told.counted:,} tokens, {told.cached:,} of them ({share:.0%}) from the provider's cache."
    )


def took(seconds: float) -> str:
    """Return a time as people say it: `0.4 s`, `12 s`, `2 min 5 s`."""
    if seconds < _LEAST:
        return "<0.1 s"
    if seconds < _IN_TENTHS:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _turn(own: Principal, turn: str) -> Turn:
    try:
        name = IdPath(id=turn).id
    except ValidationError as error:
        raise NotFound("there is no such turn") from error
    return container().conversations.turn(own, name)


def _seen(own: Principal, turn: Turn) -> Seen | None:
    """Return the parts of a turn's last call; None before a model has answered."""
    try:
        told = container().inspections().of(own, turn.session_id, turn.id)
    except NotFound:
        return None
    rows = [_row(part, told.tokens) for part in told.parts]
    messages = [row for row in rows if row.part.kind == "message"]
    fold = 0 if "all" in request.args else max(len(messages) - _NEWEST, 0)
    first = [row for row in rows if row.part.kind != "message"]
    return Seen(told, first, messages[:fold], messages[fold:])


def _row(part: Part, total: int) -> Row:
    note = _NOTE.match(part.excerpt) if part.kind == "message" else None
    words = part.excerpt[note.end() :] if note else part.excerpt
    return Row(_title(part), part, part.tokens / max(total, 1), note[1] if note else "", words)


def _title(part: Part) -> str:
    if part.kind == "prompt":
        return f"Prompt: {part.name}"
    if part.kind == "summary":
        return "Summary"
    name = _NAMES.get(part.name, part.name)
    return name[:1].upper() + name[1:]


def _together(calls: Sequence[SeenCall]) -> str:
    costs = [call.cost for call in calls if call.cost is not None]
    cost = sum(costs, Decimal(0)) if costs else None
    return cost_words(Spent(len(calls), 0, Usage(), cost, len(calls) - len(costs)))


def _conversation(own: Principal, turn: Turn) -> str | None:
    """Return the name of the turn's conversation in this person's chat; None elsewhere."""
    address = container().conversations.of_session(own, turn.session_id).address
    prefix = f"{own.user.id}/"
    reachable = address.channel == CHANNEL and address.chat.startswith(prefix)
    return address.chat.removeprefix(prefix) if reachable else None
