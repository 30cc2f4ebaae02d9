"""What model calls used is written once, with the turn that they were for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import text

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
