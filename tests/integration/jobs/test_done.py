"""Hearing over PostgreSQL that jobs end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from habakkuk.jobs.done import DoneListener
from habakkuk.jobs.types import JobState
from tests.integration.jobs.bench import Bench, until


@pytest.fixture
def keys() -> list[str]:
    return []


@pytest.fixture
def listener(bench: Bench, keys: list[str]) -> Iterator[DoneListener]:
    made = DoneListener(bench.database, keys.append)
    made.start()
    yield made
    made.stop()


def test_the_end_of_a_watched_job_is_heard(bench: Bench, listener: DoneListener) -> None:
    job, other = bench.enqueue(), bench.enqueue()
    with listener.watching(job) as ended, listener.watching(other) as still:
        bench.runner(size=1).offer("turns", job)
        assert ended.wait(10)
        bench.reached(other, JobState.DONE)
        assert still.wait(10)


def test_a_job_that_was_cancelled_before_it_began_has_ended(
    bench: Bench, listener: DoneListener
) -> None:
    job = bench.enqueue()
    with listener.watching(job) as ended:
        with bench.database.transaction() as work:
            bench.jobs.cancel(work, job, "stop")
        assert ended.wait(10)


def test_the_serial_key_of_every_ended_job_is_told(
    bench: Bench, listener: DoneListener, keys: list[str]
) -> None:
    job = bench.enqueue(serial_key="s:1")
    with listener.watching(job) as ended:
        bench.runner().offer("turns", job)
        assert ended.wait(10)
    until(lambda: keys == ["s:1"])


def test_a_notice_that_cannot_be_read_deafens_nobody(bench: Bench, listener: DoneListener) -> None:
    job = bench.enqueue()
    with listener.watching(job) as ended:
        bench.database.run(text("SELECT pg_notify('hab_done', 'no JSON')"))
        bench.runner().offer("turns", job)
        assert ended.wait(10)
