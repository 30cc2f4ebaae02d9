"""A database with people, and processes that spend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import text

from habakkuk.db.engine import Database
from tests.integration.conversations.till import Till


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url)
    pool.run(
        text(
            "INSERT INTO users (id, name, role) VALUES ('u-olga', 'olga', 'owner'),"
            " ('u-alice', 'alice', 'member'), ('u-bob', 'bob', 'member')"
        )
    )
    yield pool
    pool.dispose()


@pytest.fixture
def till(database: Database) -> Callable[..., Till]:
    return lambda **config: Till(database, **config)
