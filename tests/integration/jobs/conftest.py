from __future__ import annotations

from collections.abc import Iterator

import pytest

from habakkuk.db.engine import Database
from tests.integration.jobs.bench import Bench


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=12, name="test")
    yield pool
    pool.dispose()


@pytest.fixture
def bench(database: Database) -> Iterator[Bench]:
    made = Bench(database)
    yield made
    made.close()
