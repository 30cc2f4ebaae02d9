"""Every statement of the code is one that PostgreSQL can plan, with types for its parameters."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg2
import psycopg2.errors
import pytest
from sqlalchemy import TextClause, text
from sqlalchemy.engine.default import DefaultDialect

import habakkuk
from habakkuk.db.engine import Database
from habakkuk.db.statements import prepared

OTHERS = ("migrate", "ping", "revision", "service")


def statements() -> Iterator[tuple[str, TextClause]]:
    """Return what the stores hold, by the name of its module and its own."""
    for module in pkgutil.walk_packages(habakkuk.__path__, "habakkuk."):
        if ".store" not in module.name and not module.name.endswith(
            ("migrate", "ping", "revision", "service")
        ):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for number, found in enumerate(value.values() if isinstance(value, dict) else [value]):
                if isinstance(found, TextClause):
                    yield f"{module.name}.{name}.{number}", found


FOUND = dict(statements())


def test_the_stores_statements_are_found() -> None:
    """A walk that finds nothing would make the next test say nothing."""
    assert len(FOUND) > 100


@pytest.mark.parametrize("name", FOUND)
def test_a_statement_can_be_prepared(name: str, database_url: str) -> None:
    """The server refuses here what it cannot plan: a column that is not, a type it cannot tell."""
    statement = prepared(FOUND[name])
    assert statement.prepare is not None
    with closing(Database(database_url, pool_size=1).connect_alone("planner")) as connection:
        connection.cursor().execute(statement.prepare)


# What names one job. Searched for among all pending or all living jobs, it would take longer with
# every other job that waits, and with every dead entry that claims have left in those indexes.
OF_ONE_JOB = sorted(
    name
    for name in FOUND
    if name.startswith(
        (
            "habakkuk.jobs.store.lease._GUARD",
            "habakkuk.jobs.store.lease._FINISH",
            "habakkuk.jobs.store.queue._CLAIM_ONE",
            "habakkuk.jobs.store.waits._PARK",
            "habakkuk.jobs.store.waits._WAKE",
            "habakkuk.conversations.store.hotpath._END",
            "habakkuk.conversations.store.hotpath._TAKE",
        )
    )
)


@pytest.mark.parametrize("name", OF_ONE_JOB)
def test_what_names_a_job_goes_through_no_other_jobs(name: str, fresh_database_url: str) -> None:
    # Fresh: where rows were deleted, statistics say that a table is too small for an index.
    sql = str(FOUND[name].compile(dialect=DefaultDialect(paramstyle="numeric_dollar")))
    with closing(Database(fresh_database_url, pool_size=1).connect_alone("planner")) as connection:
        cursor = connection.cursor()
        # A table of one page is read as it is, whatever indexes it has.
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {sql}")
        (((plan,),),) = cursor.fetchall()
    for scan in scans(plan["Plan"]):
        if scan.get("Index Name") in {"jobs_pending", "jobs_key_alive"}:
            assert "serial_key" in scan.get("Index Cond", ""), scan


def scans(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "Scan" in node["Node Type"] and node.get("Relation Name") in {"jobs", None}:
        yield node
    for child in node.get("Plans", ()):
        yield from scans(child)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=1)
    yield pool
    pool.dispose()


def test_a_statement_is_prepared_once_and_its_plan_kept(database: Database) -> None:
    """Planning is most of what one costs; the server tries five times before it keeps a plan."""
    plans = text("SELECT generic_plans AS n FROM pg_prepared_statements WHERE name = :name")
    asked = text("SELECT CAST(:word AS text)")
    for word in ("one", "it's", 'a"b\\c', "", "é", "six", "seven"):
        assert database.run(asked, word=word)[0][0] == word
    assert database.run(plans, name=prepared(asked).name)[0].n == 2


def test_a_table_that_changed_under_a_statement_breaks_it_once_at_most(database: Database) -> None:
    """As when a migration adds a column while the processes of the version before still run."""
    whole = text("SELECT * FROM (SELECT w.* FROM waits w) all_of_it")
    database.run(whole)
    database.run(text("ALTER TABLE waits ADD COLUMN later text"))
    try:
        with pytest.raises(psycopg2.errors.FeatureNotSupported):
            database.run(whole)
        assert list(database.run(whole)) == []
    finally:
        database.run(text("ALTER TABLE waits DROP COLUMN later"))


@pytest.mark.parametrize("name", FOUND)
def test_no_statement_takes_whatever_columns_a_table_has(name: str) -> None:
    """One that does is of no use to a running process once a migration has added a column."""
    tables = "jobs|waits|turns|sessions|conversations|chat_messages|messages|users|deliveries|usage"
    sql = str(FOUND[name])
    assert not re.match(rf"\s*SELECT\s+\*\s+FROM\s+({tables})\b", sql)
    assert not re.search(r"RETURNING\s+\*", sql)


def test_what_was_put_off_happens_before_what_follows(database: Database) -> None:
    add = text("INSERT INTO users (id, name, role) VALUES (:id, :id, 'member')")
    count = text("SELECT count(*) FROM users")
    with database.transaction() as work:
        work.defer(add, id="a")
        assert work.execute(count)[0][0] == 1
        work.defer(add, id="b")
    assert database.run(count)[0][0] == 2


def test_what_was_put_off_and_fails_takes_the_rest_with_it(database: Database) -> None:
    add = text("INSERT INTO users (id, name, role) VALUES (:id, :id, 'member')")

    def twice() -> None:
        with database.transaction() as work:
            work.execute(add, id="a")
            work.defer(add, id="a")

    with pytest.raises(psycopg2.IntegrityError):
        twice()
    assert database.run(text("SELECT count(*) FROM users"))[0][0] == 0
