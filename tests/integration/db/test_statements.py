"""Every statement of the code is one that PostgreSQL can plan, with types for its parameters."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import closing

import psycopg2
import pytest
from sqlalchemy import TextClause, text

import habakkuk
from habakkuk.db.engine import Database
from habakkuk.db.statements import prepared


def statements() -> Iterator[tuple[str, TextClause]]:
    """Return what the stores hold, by the name of its module and its own."""
    for module in pkgutil.walk_packages(habakkuk.__path__, "habakkuk."):
        if ".store" not in module.name and not module.name.endswith(("migrate", "ping", "service")):
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


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=1)
    yield pool
    pool.dispose()


def test_a_statement_is_planned_once_for_a_connection(database: Database) -> None:
    """What running costs is what the server does each time, and planning is most of it."""
    plans = text("SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE name = :n")
    asked = text("SELECT CAST(:word AS text)")
    for word in ("one", "it's", 'a"b\\c'):
        assert database.run(asked, word=word)[0][0] == word
    assert database.run(plans, n=prepared(asked).name)[0][0] == 3


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
