"""What models used and cost, summed up for whom it concerns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import TextClause, text
from sqlalchemy.engine.default import DefaultDialect

from habakkuk.accounts.types import Principal, Role, Scope, User
from habakkuk.conversations.reports import UsageReports, cost_words, hit_share, span_of
from habakkuk.conversations.store import reports, spend
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import Config
from habakkuk.core.errors import Invalid
from habakkuk.db.engine import Database

NOW = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)
OWNER = Principal(User("u-olga", "olga", Role.OWNER), frozenset(Scope))
MEMBER = Principal(User("u-alice", "alice", Role.MEMBER), frozenset({Scope.READ}))
ROW: dict[str, Any] = {
    "at": NOW,
    "user_id": "u-alice",
    "agent": "habakkuk",
    "model": "m",
    "input": 100,
    "output": 10,
    "cache_read": 0,
    "cost": Decimal(1),
    "outcome": "answered",
    "session_id": "s",
}
ADD = text("""
    INSERT INTO usage (id, at, user_id, agent, provider, model, input, output, cache_read,
                       cache_write, reasoning, cost, outcome, session_id)
    VALUES (:id, :at, :user_id, :agent, 'mine', :model, :input, :output, :cache_read, 0, 0, :cost,
            :outcome, :session_id)
""")


class Fixed(Clock):
    """A clock that stands."""

    def now(self) -> datetime:
        return NOW


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url)
    pool.run(
        text(
            "INSERT INTO users (id, name, role) VALUES ('u-olga', 'olga', 'owner'),"
            " ('u-alice', 'alice', 'member')"
        )
    )
    yield pool
    pool.dispose()


@pytest.fixture
def used(database: Database) -> Callable[..., None]:
    numbers = iter(range(1000))

    def add(**fields: Any) -> None:
        database.run(ADD, **ROW | {"id": f"call{next(numbers)}"} | fields)

    return add


@pytest.fixture
def ledger(database: Database) -> UsageReports:
    return UsageReports(database, Config(), Fixed())


def test_an_empty_ledger_gives_an_empty_report(ledger: UsageReports) -> None:
    found = ledger.report(OWNER)
    assert (found.total.calls, found.total.cost) == (0, Decimal(0))
    assert [item.spent.calls for item in found.days] == [0] * 7
    assert (found.models, found.agents, found.users, found.falls) == ([], [], [], [])


def test_calls_are_summed_by_day_model_agent_and_person(
    ledger: UsageReports, used: Callable[..., None]
) -> None:
    used(cache_read=40)
    used(at=NOW - timedelta(days=2), model="n", agent="other", user_id="u-olga", cost=Decimal(3))
    found = ledger.report(OWNER)
    days = {item.name: item.spent.calls for item in found.days if item.spent.calls}
    assert days == {"2026-11-30": 1, "2026-11-28": 1}
    for kind, names in (
        ("model", ["mine/n", "mine/m"]),
        ("agent", ["other", "habakkuk"]),
        ("user", ["olga", "alice"]),
    ):
        assert [item.name for item in found.by(kind)] == names
    assert found.total.cost == 4
    assert found.total.usage.input == 200
    assert hit_share(found.total.usage) == 0.2


def test_days_begin_at_midnight_of_the_configured_zone(
    database: Database, used: Callable[..., None]
) -> None:
    """23:30 in London is the next day in Berlin."""
    used(at=datetime(2026, 11, 29, 23, 30, tzinfo=UTC))
    for zone, day in (("Europe/London", "2026-11-29"), ("Europe/Berlin", "2026-11-30")):
        found = UsageReports(database, Config(timezone=zone), Fixed()).report(OWNER)
        assert [item.name for item in found.days if item.spent.calls] == [day]


def test_seven_days_are_today_and_the_six_before(
    ledger: UsageReports, used: Callable[..., None]
) -> None:
    used(at=datetime(2026, 11, 24, 0, 0, tzinfo=UTC))
    used(at=datetime(2026, 11, 23, 23, 59, tzinfo=UTC))
    assert ledger.report(OWNER).total.calls == 1


def test_hours_begin_where_they_began(ledger: UsageReports, used: Callable[..., None]) -> None:
    used(at=NOW - timedelta(hours=19))
    used(at=NOW - timedelta(hours=21))
    found = ledger.report(OWNER, timedelta(hours=20))
    assert [(item.name, item.spent.calls) for item in found.days] == [
        ("2026-11-30", 0),
        ("2026-11-29", 1),
    ]


def test_others_than_the_owner_see_what_they_used_themselves(
    ledger: UsageReports, used: Callable[..., None]
) -> None:
    used()
    used(user_id="u-olga", model="secret")
    used(user_id=None)
    found = ledger.report(MEMBER)
    assert found.total.calls == 1
    assert [item.name for item in found.users] == ["alice"]
    assert [item.name for item in found.models] == ["mine/m"]
    assert ledger.report(OWNER).total.calls == 3


def test_an_unknown_price_is_said_and_not_counted_as_nothing(
    ledger: UsageReports, used: Callable[..., None]
) -> None:
    used(cost=None, model="new")
    found = ledger.report(OWNER)
    assert cost_words(found.total) == "unknown price"
    used()
    found = ledger.report(OWNER)
    assert cost_words(found.total) == "$1.00 and 1 call of unknown price"
    assert [cost_words(item.spent) for item in found.models] == ["$1.00", "unknown price"]


def test_what_failed_is_counted_apart_from_what_was_stopped(
    ledger: UsageReports, used: Callable[..., None]
) -> None:
    for outcome in ("answered", "stopped", "cut", "rate_limited"):
        used(outcome=outcome)
    assert ledger.report(OWNER).total.failed == 2


def test_a_person_who_was_removed_keeps_a_line(
    ledger: UsageReports, used: Callable[..., None]
) -> None:
    used(user_id="u-gone")
    assert [item.name for item in ledger.report(OWNER).users] == ["u-gone"]


@pytest.mark.parametrize(
    ("today", "falls"),
    [(39_000, [("mine/m", 0.39, 0.8)]), (41_000, [])],
)
def test_a_share_below_half_of_last_weeks_is_a_fall(
    ledger: UsageReports, used: Callable[..., None], today: int, falls: list[Any]
) -> None:
    used(at=NOW - timedelta(days=7), input=100_000, cache_read=80_000)
    used(input=100_000, cache_read=today)
    found = ledger.report(OWNER, timedelta(days=1)).falls
    assert [(fall.model, fall.share, fall.before) for fall in found] == falls


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"input": 100_000, "cache_read": 9_000}, {"input": 100_000}),
        ({"input": 100_000, "cache_read": 80_000}, {"input": 19_000}),
        ({"input": 19_000, "cache_read": 18_000}, {"input": 100_000}),
    ],
)
def test_no_fall_is_told_where_a_share_means_little(
    ledger: UsageReports, used: Callable[..., None], before: dict[str, int], now: dict[str, int]
) -> None:
    used(at=NOW - timedelta(days=2), **before)
    used(**now)
    assert ledger.report(OWNER).falls == []


def test_a_session_is_summed_whoever_spoke_in_it(
    database: Database, used: Callable[..., None]
) -> None:
    used(at=NOW - timedelta(days=99))
    used(user_id="u-olga")
    used(session_id="other")
    with database.transaction() as work:
        found = reports.of_session(work, "s")
    assert (found.calls, found.cost) == (2, Decimal(2))


@pytest.mark.parametrize("written", ["", "7", "d", "7w", "-1d", "0d", "367d", "1.5d", "7 d"])
def test_what_is_no_time_is_refused(written: str) -> None:
    with pytest.raises(Invalid, match="is no time such as 12h or 7d"):
        span_of(written)


@pytest.mark.parametrize(("written", "hours"), [("12h", 12), ("7d", 168), ("366d", 8784)])
def test_times_are_hours_or_days(written: str, hours: int) -> None:
    assert span_of(written) == timedelta(hours=hours)


@pytest.mark.parametrize(
    "statement", [spend._ADMIT, spend._SHOW, reports._REPORT, reports._WITHIN, reports._CACHED]
)
def test_sums_of_a_time_read_that_time_alone(statement: TextClause, database: Database) -> None:
    """By a plan for any values: a plan that read every row would take longer each month."""
    database.run(
        text(
            "INSERT INTO usage (id, at, provider, model, input, output, cache_read, cache_write,"
            " reasoning) SELECT 'c' || n, now() - n * interval '1 h', 'p', 'm', 1, 1, 0, 0, 0"
            " FROM generate_series(1, 5000) n"
        )
    )
    sql = str(statement.compile(dialect=DefaultDialect(paramstyle="numeric_dollar")))
    with closing(database.connect_alone("planner")) as connection:
        cursor = connection.cursor()
        cursor.execute("ANALYZE usage")
        cursor.execute(f"EXPLAIN (GENERIC_PLAN) {sql}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan on usage" not in plan
    begins = r"(\$\d+|GREATEST\(\$\d+, s\.until\))"
    assert re.search(rf"Index Cond: \(\(at >= {begins}\) AND \(at < \$\d+\)\)", plan)
