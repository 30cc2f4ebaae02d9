"""Sums of what lies back: leave for a call is judged by them and by the ledger's last lines."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import text

from habakkuk.conversations.budgets import caps_of
from habakkuk.conversations.store import spend
from habakkuk.conversations.store.spend import Asked, Day
from habakkuk.db.engine import Database
from tests.integration.conversations.till import MODEL, Till
from tests.integration.jobs.bench import in_threads

# A line a second for half an hour, by two people.
LINES = text("""
    INSERT INTO usage (id, at, user_id, agent, provider, model, input, output, cache_read,
                       cache_write, reasoning, cost)
    SELECT 'old' || n, now() - n * interval '1 s',
           CASE n % 2 WHEN 0 THEN 'u-alice' ELSE 'u-bob' END,
           CASE n % 3 WHEN 0 THEN 'habakkuk' END, 'mine', 'm', 0, 0, 0, 0, 0, 0.01
    FROM generate_series(1, 1800) n
""")
SUMS = text("SELECT scope, ends, cost FROM spend_sums ORDER BY scope, ends")
LEDGER = text("""
    SELECT sum(cost) AS everybody, sum(cost) FILTER (WHERE user_id = 'u-alice') AS alice,
           sum(cost) FILTER (WHERE agent = 'habakkuk') AS agent
    FROM usage WHERE at >= :begins
""")
BUDGETS = {"day": 100, "users": {"member": 90}, "agents": {"habakkuk": 90}}
ALL = {"day": Decimal(18), "user:u-alice": Decimal(9), "agent:habakkuk": Decimal(6)}


@pytest.fixture
def one(till: Callable[..., Till]) -> Till:
    made = till(budgets=BUDGETS)
    made.database.run(LINES)
    return made


def day(back: timedelta = timedelta(hours=3)) -> Day:
    """Return a day that began a while ago, as days do: between two pieces."""
    now = datetime.now(UTC)
    begins = now - back
    begins -= timedelta(minutes=begins.minute % 5, seconds=begins.second)
    return Day(now.date(), begins.replace(microsecond=0), now + timedelta(hours=1))


def spent(one: Till, at: Day | None = None) -> dict[str, Decimal]:
    """Return what a call is judged by, for each cap."""
    nothing = Decimal(0)
    asked = Asked(
        hold="h",
        model=MODEL,
        turn_id=None,
        session_id=None,
        user_id="u-alice",
        agent="habakkuk",
        purpose="answer",
        amount=nothing,
        least=nothing,
        fixed=nothing,
        prompt=nothing,
        seconds=1,
    )
    verdict = spend.admit(one.database, caps_of(one.config), at or day(), asked, Decimal(1))
    return {cap.scope: cap.spent for cap in verdict.caps}


def test_a_sum_changes_nothing_of_what_is_spent(one: Till) -> None:
    assert spent(one) == ALL
    one.caps.settle()
    assert spent(one) == ALL


def test_lines_that_are_summed_up_are_not_read_again(one: Till) -> None:
    one.caps.settle()
    one.database.run(text("DELETE FROM usage WHERE at < now() - interval '8 minutes'"))
    assert spent(one) == ALL


@pytest.mark.parametrize("minutes", [0, 5, 10, 20])
def test_a_day_counts_from_its_beginning(one: Till, minutes: int) -> None:
    one.caps.settle()
    at = day(timedelta(minutes=minutes))
    row = one.database.run(LEDGER, begins=at.begins)[0]
    assert spent(one, at) == {
        "day": row.everybody or 0,
        "user:u-alice": row.alice or 0,
        "agent:habakkuk": row.agent or 0,
    }


def test_what_is_spent_afterwards_counts_at_once(one: Till) -> None:
    one.caps.settle()
    one.spend()
    assert spent(one) == {scope: cost + 1 for scope, cost in ALL.items()}


def test_many_that_sum_up_at_once_and_again_count_once(one: Till) -> None:
    in_threads(4, lambda _number: one.caps.settle())
    first = [tuple(row) for row in one.database.run(SUMS)]
    one.caps.settle()
    assert [tuple(row) for row in one.database.run(SUMS)][: len(first)] == first
    assert spent(one) == ALL


def test_a_time_without_spending_is_summed_up_too(one: Till) -> None:
    """Else the lines before it would be read for as long as nobody spends anything."""
    one.database.run(text("DELETE FROM usage WHERE at > now() - interval '20 minutes'"))
    one.caps.settle()
    until = text("SELECT now() - max(ends) < interval '8 minutes' FROM spend_sums")
    assert one.database.run(until)[0][0]


def test_old_sums_go(one: Till) -> None:
    one.database.run(text("INSERT INTO spend_sums VALUES ('day', now() - interval '4 days', 1)"))
    one.caps.settle()
    old = text("SELECT count(*) FROM spend_sums WHERE ends < now() - interval '3 days'")
    assert one.database.run(old)[0][0] == 0


def test_without_a_cap_nothing_is_summed_up() -> None:
    Till(Database("postgresql+psycopg2://nobody@127.0.0.1:1/nothing")).caps.settle()
