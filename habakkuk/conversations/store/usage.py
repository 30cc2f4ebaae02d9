"""The ledger of model calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import text

from habakkuk.core.ids import random_id
from habakkuk.db.engine import Call, Database
from habakkuk.llm.contract import CallRecord
from habakkuk.llm.types import Usage

_ADD = text("""
    INSERT INTO usage (id, turn_id, session_id, user_id, agent, provider, model, input, output,
                       cache_read, cache_write, reasoning)
    VALUES (:id, :turn_id, :session_id, :user_id, :agent, :provider, :model, :input, :output,
            :cache_read, :cache_write, :reasoning)
    ON CONFLICT (id) DO NOTHING
""")
# A turn that was opened again begins anew.
_OF_TURN = text("""
    SELECT coalesce(sum(u.input + u.output), 0) AS tokens
    FROM usage u JOIN turns t ON t.id = u.turn_id WHERE t.id = :turn_id AND u.at >= t.began
""")
# The index is on the session.
_SUMMED = text("""
    SELECT count(*) AS calls, coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
           coalesce(sum(cache_read), 0) AS cache_read, coalesce(sum(cache_write), 0) AS cache_write,
           coalesce(sum(reasoning), 0) AS reasoning
    FROM usage WHERE session_id = :session_id AND turn_id = :turn_id
""")


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
    )


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
        return [(_ADD, row) for row in self._rows]

    def empty(self) -> None:
        """Forget what is in it: it is written."""
        self._rows.clear()


class UsageLedger:
    """Keeps what every model call used (the port habakkuk.llm.contract.CallLog)."""

    def __init__(self, database: Database) -> None:
        """Use the pool of this process."""
        self._database = database
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

    def record(self, call: CallRecord) -> None:
        """Keep one call: with what its turn writes next, at once when another call comes first."""
        model, usage, labels = call.model, call.usage or Usage(), call.labels
        row = {
            # A commit whose answer was lost is made again.
            "id": random_id("call"),
            "turn_id": labels.get("turn"),
            "session_id": labels.get("session"),
            "user_id": labels.get("user"),
            "agent": labels.get("agent"),
            "provider": model.provider,
            "model": model.model,
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "reasoning": usage.reasoning,
        }
        basket = self._baskets.get(labels.get("turn", "")) if call.last else None
        if basket is not None:
            basket.put(row)
        else:
            self._database.run(_ADD, **row)
