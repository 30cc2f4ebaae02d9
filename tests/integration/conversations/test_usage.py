"""What model calls used is written once, with the turn that they were for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from habakkuk.conversations.store import usage
from habakkuk.conversations.store.usage import UsageLedger
from habakkuk.db.engine import Database
from habakkuk.llm.contract import CallRecord
from habakkuk.llm.types import ModelRef, Usage

LABELS = {"turn": "t", "session": "s", "user": "u", "agent": "a"}
CALL = CallRecord(ModelRef("mine", "m"), LABELS, "answered", Usage(1, 1))
COUNT = text("SELECT count(*) FROM usage")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=2)
    yield pool
    pool.dispose()


def test_usage_is_kept_with_who_asked(database: Database) -> None:
    ledger = UsageLedger(database)
    labels = {"turn": "t", "session": "s", "user": "u", "agent": "a"}
    ledger.record(CallRecord(ModelRef("mine", "m/1"), labels, "answered", Usage(10, 5, 3, 2, 1)))
    ledger.record(CallRecord(ModelRef("mine", "m"), {}, "answered", Usage()))
    rows = database.run(
        text(
            "SELECT turn_id, session_id, user_id, agent, provider, model, input, output,"
            " cache_read, cache_write, reasoning FROM usage ORDER BY at"
        )
    )
    assert [tuple(row) for row in rows] == [
        ("t", "s", "u", "a", "mine", "m/1", 10, 5, 3, 2, 1),
        (None, None, None, None, "mine", "m", 0, 0, 0, 0, 0),
    ]


def test_what_a_call_used_goes_with_what_its_turn_writes_next(database: Database) -> None:
    ledger = UsageLedger(database)
    with ledger.collecting("t") as basket:
        ledger.record(CALL)
        assert database.run(COUNT)[0][0] == 0
        with database.transaction() as work:
            for statement, row in basket.calls:
                work.defer(statement, **row)
        # As after a commit whose answer was lost: what is in the basket is written again.
    assert database.run(COUNT)[0][0] == 1


def test_what_was_used_is_written_whatever_becomes_of_the_turn(database: Database) -> None:
    ledger = UsageLedger(database)

    def fail() -> None:
        with ledger.collecting("t"):
            ledger.record(CALL)
            raise ValueError("a fault")

    with pytest.raises(ValueError, match="a fault"):
        fail()
    assert database.run(COUNT)[0][0] == 1


def test_a_call_that_another_follows_is_written_at_once(database: Database) -> None:
    ledger = UsageLedger(database)
    with ledger.collecting("t"):
        ledger.record(replace(CALL, last=False))
        assert database.run(COUNT)[0][0] == 1


def test_two_runs_of_a_turn_have_baskets_of_their_own(database: Database) -> None:
    """The old one hangs in a tool when the turn comes back to the same process."""
    ledger = UsageLedger(database)
    old = ledger.collecting("t")
    old.__enter__()
    with ledger.collecting("t"):
        ledger.record(CALL)
        old.__exit__(None, None, None)
        ledger.record(CALL)
    assert database.run(COUNT)[0][0] == 2


class PerToken:
    """Prices of a dollar a token; nobody knows what other models cost, and one is free."""

    def cost(self, model: ModelRef, usage: Usage) -> Decimal | None:
        dollars = {"m": 1, "free": 0}.get(model.model)
        return None if dollars is None else Decimal(dollars * (usage.input + usage.output))


def kept(database: Database) -> list[tuple[Any, ...]]:
    columns = (
        "outcome, purpose, input, output, cost, round(CAST(seconds AS numeric), 2), first_token"
    )
    return [tuple(row) for row in database.run(text(f"SELECT {columns} FROM usage ORDER BY at"))]


def test_a_call_is_kept_with_what_it_was_for_how_it_went_and_what_it_cost(
    database: Database,
) -> None:
    labels = LABELS | {"purpose": "summary"}
    UsageLedger(database, PerToken()).record(
        replace(CALL, labels=labels, seconds=3.25, first_token=0.5)
    )
    assert kept(database) == [
        ("answered", "summary", 1, 1, Decimal(2), Decimal("3.25"), 0.5),
    ]


@pytest.mark.parametrize(
    ("outcome", "first_token", "model", "cost"),
    [
        ("rate_limited", None, "m", Decimal(0)),
        ("rate_limited", None, "unpriced", Decimal(0)),
        ("network_failed", 0.5, "m", None),
        ("cut", 0.5, "m", None),
        ("stopped", None, "m", None),
        ("stopped", None, "free", Decimal(0)),
    ],
)
def test_a_call_that_nobody_counted_is_free_only_when_it_never_began(
    database: Database, outcome: str, first_token: float | None, model: str, cost: Decimal | None
) -> None:
    call = CallRecord(ModelRef("mine", model), LABELS, outcome, None, first_token=first_token)
    UsageLedger(database, PerToken()).record(replace(call, last=False))
    ((kept_outcome, _, read, written, found, _, _),) = kept(database)
    assert (kept_outcome, read, written, found) == (outcome, 0, 0, cost)


def test_an_answer_of_a_server_that_does_not_count_is_not_free(database: Database) -> None:
    UsageLedger(database, PerToken()).record(replace(CALL, usage=Usage()))
    assert [row[4] for row in kept(database)] == [None]


def test_searches_of_a_turn_are_counted(database: Database) -> None:
    ledger = UsageLedger(database)
    for searches in (2, 3):
        ledger.record(replace(CALL, usage=Usage(1, 1, searches=searches)))
    assert usage.summed(database, "s", "t") == Usage(2, 2, searches=5)


def test_what_only_failed_is_no_usage_of_a_turn(database: Database) -> None:
    ledger = UsageLedger(database)
    ledger.record(replace(CALL, outcome="rate_limited", usage=None))
    assert usage.summed(database, "s", "t") is None
    ledger.record(CALL)
    assert usage.summed(database, "s", "t") == Usage(1, 1)
