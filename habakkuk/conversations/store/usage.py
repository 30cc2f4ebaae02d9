"""The ledger of model calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Protocol

from sqlalchemy import text

from habakkuk.core.ids import random_id
from habakkuk.db.engine import Call, Database
from habakkuk.llm.contract import CallRecord
from habakkuk.llm.types import ModelRef, Usage

_COLUMNS = """
    INSERT INTO usage (id, turn_id, session_id, user_id, agent, provider, model, input, output,
                       cache_read, cache_write, reasoning, searches, cost, purpose, outcome,
                       seconds, first_token)
    VALUES (:id, :turn_id, :session_id, :user_id, :agent, :provider, :model, :input, :output,
            :cache_read, :cache_write, :reasoning, :searches, {cost}, :purpose, :outcome,
            :seconds, :first_token)
    ON CONFLICT (id) DO {else_}
"""
_ADD = text(_COLUMNS.format(cost=":cost", else_="NOTHING"))
# What the call held of a budget goes as what it cost comes: nobody sees both or neither. What
# nobody counted costs what its prompt was expected to, or stopping answers would be free. A call
# that was taken for lost (store/spend.py), since others went on with its turn, was not.
_ADD_AND_RELEASE = text(
    "WITH released AS (DELETE FROM spend_holds WHERE id = :hold RETURNING prompt)"
    + _COLUMNS.format(
        cost="coalesce(:cost, (SELECT prompt FROM released WHERE :uncounted))",
        # It is spent now: what lies back may be summed up.
        else_="""UPDATE SET (at, provider, model, input, output, cache_read, cache_write, reasoning,
                             searches, cost, outcome, seconds, first_token)
            = (now(), excluded.provider, excluded.model, excluded.input, excluded.output,
               excluded.cache_read, excluded.cache_write, excluded.reasoning, excluded.searches,
               coalesce(excluded.cost, CASE WHEN :uncounted THEN usage.cost END),
               excluded.outcome, excluded.seconds, excluded.first_token)
            WHERE usage.outcome = 'lost'""",
    )
)
# A turn that was opened again begins anew.
_OF_TURN = text("""
    SELECT coalesce(sum(u.input + u.output), 0) AS tokens
    FROM usage u JOIN turns t ON t.id = u.turn_id WHERE t.id = :turn_id AND u.at >= t.began
""")
# The index is on the session.
_SUMMED = text("""
    SELECT count(*) FILTER (WHERE outcome = 'answered' OR input + output > 0) AS calls,
           coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
           coalesce(sum(cache_read), 0) AS cache_read, coalesce(sum(cache_write), 0) AS cache_write,
           coalesce(sum(reasoning), 0) AS reasoning, coalesce(sum(searches), 0) AS searches
    FROM usage WHERE session_id = :session_id AND turn_id = :turn_id
""")
# A call that broke off, or that was stopped, has been read by then; an answer without a count was
# given by a server that does not count.
_NOTHING, _MUCH = Decimal(0), Usage(1_000_000, 1_000_000)
_BEGUN = frozenset({"answered", "cut", "stopped"})


def of_turn(database: Database, turn_id: str) -> int:
    """Return how many tokens a turn has read and written since it began, cached ones included."""
    return int(database.run(_OF_TURN, turn_id=turn_id)[0].tokens)


def summed(database: Database, session_id: str, turn_id: str) -> Usage | None:
    """Return what all model calls of a turn used together, None when none was counted."""
    row = database.run(_SUMMED, session_id=session_id, turn_id=turn_id)[0]
    if not row.calls:
        return None
    return Usage(
        int(row.input),
        int(row.output),
        int(row.cache_read),
        int(row.cache_write),
        int(row.reasoning),
        int(row.searches),
    )


class PriceList(Protocol):
    """Knows what calls cost: habakkuk.llm.prices.Prices."""

    def cost(self, model: ModelRef, usage: Usage) -> Decimal | None:
        """Return what a call cost in USD, None when nobody knows."""
        ...


class Basket:
    """What the model calls of one turn used and nobody has written yet. Used by one thread."""

    def __init__(self) -> None:
        """Start empty."""
        self._rows: list[dict[str, Any]] = []

    def put(self, row: dict[str, Any]) -> None:
        """Add one call."""
        self._rows.append(row)

    @property
    def calls(self) -> list[Call]:
        """The statements that write what is in it."""
        return [_call(row) for row in self._rows]

    def empty(self) -> None:
        """Forget what is in it: it is written."""
        self._rows.clear()


class UsageLedger:
    """Keeps what every model call used (the port habakkuk.llm.contract.CallLog)."""

    def __init__(self, database: Database, prices: PriceList | None = None) -> None:
        """Use the pool of this process. Without `prices` nobody knows what a call cost."""
        self._database = database
        self._prices = prices
        self._baskets: dict[str, Basket] = {}

    @contextmanager
    def collecting(self, turn_id: str) -> Iterator[Basket]:
        """Keep the calls of a turn in a basket, whose owner writes them with the turn's next step.

        What is left at the end is written then: what is spent is spent.
        """
        basket = self._baskets[turn_id] = Basket()
        try:
            yield basket
        finally:
            # A turn that was taken over comes back while its old run hangs in a tool.
            if self._baskets.get(turn_id) is basket:
                del self._baskets[turn_id]
            self.write(basket)

    def write(self, basket: Basket) -> None:
        """Write what is in a basket, now."""
        for statement, row in basket.calls:
            self._database.run(statement, **row)
        basket.empty()

    def settle(self, turn_id: str) -> None:
        """Write what waits in a turn's basket, from the turn's own thread.

        For whoever wants to know what is spent: an earlier call of the turn is.
        """
        basket = self._baskets.get(turn_id)
        if basket is not None:
            self.write(basket)

    def record(self, call: CallRecord) -> None:
        """Keep one call: with what its turn writes next, at once when another call comes first."""
        row = self._row(call)
        basket = self._baskets.get(call.labels.get("turn", "")) if call.last else None
        if basket is not None:
            basket.put(row)
        else:
            statement, params = _call(row)
            self._database.run(statement, **params)

    def _row(self, call: CallRecord) -> dict[str, Any]:
        model, usage, labels = call.model, call.usage or Usage(), call.labels
        counted = usage.input > 0 or usage.output > 0
        return {
            # A commit whose answer was lost is made again; what it held may be settled already.
            "id": call.hold or random_id("call"),
            "turn_id": labels.get("turn") or None,
            "session_id": labels.get("session") or None,
            "user_id": labels.get("user") or None,
            "agent": labels.get("agent") or None,
            "provider": model.provider,
            "model": model.model,
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "reasoning": usage.reasoning,
            "searches": usage.searches,
            # Now: a price that changes later changes nothing that was spent.
            "cost": self._cost(call, usage) if counted else self._uncounted_cost(call),
            "purpose": labels.get("purpose") or "answer",
            "outcome": call.outcome,
            "seconds": call.seconds,
            "first_token": call.first_token,
            "hold": call.hold,
            "uncounted": not counted,
        }

    def _cost(self, call: CallRecord, usage: Usage) -> Decimal | None:
        return None if self._prices is None else self._prices.cost(call.model, usage)

    def _uncounted_cost(self, call: CallRecord) -> Decimal | None:
        """Return nothing where nothing was begun, or the model is free; else nobody knows."""
        free = not _was_begun(call) or self._cost(call, _MUCH) == _NOTHING
        return _NOTHING if free else None


def _was_begun(call: CallRecord) -> bool:
    """Whether a service will want money for a call of which it did not say what it used."""
    return call.first_token is not None or call.outcome in _BEGUN


def _call(row: dict[str, Any]) -> Call:
    return (_ADD if row["hold"] is None else _ADD_AND_RELEASE), row
