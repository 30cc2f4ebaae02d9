"""The daily job: once a day, whoever asks for it, and gone with it what was left half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.jobs.host import Host, Identity
from habakkuk.jobs.types import JobState
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack, until


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str) -> Iterator[Stack]:
    with ModelServer() as model:
        made = Stack(home, database_url, redis_url, model)
        yield made
        made.close()


def test_a_day_has_one_job_that_removes_leftovers(stack: Stack) -> None:
    left = stack.home / "blobs" / "ab" / ".part-left"
    left.parent.mkdir(parents=True)
    left.touch()
    os.utime(left, (0, 0))
    database = stack.container.database
    database.run(
        text(
            "INSERT INTO spend_holds (id, provider, model, scopes, amount, expires)"
            " VALUES ('old', 'mine', 'm', '{day}', 1, now() - interval '1 s'),"
            " ('new', 'mine', 'm', '{day}', 1, 'infinity')"
        )
    )
    for _ in range(2):
        stack.container.maintain()
    (job,) = stack.container.jobs.list(kind="tidy")
    host = Host(stack.container, Identity("test", "worker", "0"), {"maintenance": 1})
    host.start()
    try:
        until(lambda: (found := stack.container.jobs.get(job.id)) and not found.state.alive)
    finally:
        assert host.stop(10)
    found = stack.container.jobs.get(job.id)
    assert found is not None
    assert found.state is JobState.DONE
    assert not left.exists()
    assert [row.id for row in database.run(text("SELECT id FROM spend_holds"))] == ["new"]
