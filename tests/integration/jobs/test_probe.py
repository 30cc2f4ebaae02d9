"""The probe, in this process: what it runs, what it gives back, when it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from habakkuk.core.config.settings import load_settings
from habakkuk.core.failpoints import Failpoints
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.probe import Probe
from habakkuk.jobs.store.line import WAKE_CHANNEL, open_line
from habakkuk.jobs.types import JobState, Queue
from tests.integration.jobs.bench import Bench
from tests.integration.jobs.source import Source


@pytest.fixture
def source(bench: Bench, home: Path) -> Source:
    handlers = {"test": bench.handler}
    return Source(load_settings(), bench.database, None, Failpoints(), bench.wake, handlers)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


@pytest.fixture
def probe(source: Source) -> Iterator[Probe]:
    """One that stays until it is told."""
    made = Probe(source, list(Queue), linger=600)
    yield made
    made.stop()


def poison(bench: Bench) -> str:
    job = bench.enqueue()
    bench.sql("UPDATE jobs SET crashes = 2 WHERE id = :i", i=job)
    return job


def move_on(context: JobContext) -> None:
    with context.database.transaction() as work:
        context.guard_change(work)
        context.progressed(work)


def test_it_runs_what_is_there_and_ends(bench: Bench, source: Source) -> None:
    jobs = [poison(bench), poison(bench)]
    ordinary = bench.enqueue()
    assert Probe(source, list(Queue), linger=0).run() == 2
    assert [bench.state(job) for job in jobs] == [JobState.DONE] * 2
    assert bench.state(ordinary) is JobState.PENDING


def test_it_stays_for_what_comes_soon_after(
    bench: Bench, probe: Probe, threads: ThreadPoolExecutor
) -> None:
    """Its start takes longer than most steps."""
    first = poison(bench)
    running: Future[int] = threads.submit(probe.run)
    bench.reached(first, JobState.DONE)
    bench.reached(poison(bench), JobState.DONE)
    probe.stop()
    assert running.result() == 2


def test_a_job_that_moved_on_is_given_back_to_the_workers_who_hear_of_it(
    bench: Bench, source: Source
) -> None:
    def work(context: JobContext) -> None:
        move_on(context)
        context.interrupt.check()

    bench.handler.run_with = work
    job = poison(bench)
    with open_line(bench.database, "test worker") as line:
        line.listen()
        assert Probe(source, list(Queue), linger=0).run() == 1
        assert list(line.wait(10)) == [(WAKE_CHANNEL, f"turns {job}")]
    row = bench.job(job)
    assert (row.state, row.crashes, row.attempt) == (JobState.PENDING, 0, 0)


def test_a_job_whose_next_step_never_comes_holds_nobody_up(
    bench: Bench, probe: Probe, threads: ThreadPoolExecutor
) -> None:
    """Whoever moved on is no suspect any more: what waits behind it is."""

    def work(context: JobContext) -> None:
        if context.job.id == slow:
            move_on(context)
            context.interrupt.wait(600)
            context.interrupt.check()

    bench.handler.run_with = work
    slow, next_one = poison(bench), poison(bench)
    running = threads.submit(probe.run)
    bench.reached(next_one, JobState.DONE)
    probe.stop()
    running.result()


def test_without_progress_a_job_stays_where_it_is(
    bench: Bench, probe: Probe, threads: ThreadPoolExecutor
) -> None:
    """In an ordinary worker it would kill others with it."""
    begun = threading.Event()

    def work(context: JobContext) -> None:
        begun.set()
        context.interrupt.wait(600)
        context.interrupt.check()

    bench.handler.run_with = work
    job = poison(bench)
    running = threads.submit(probe.run)
    assert begun.wait(60)
    assert (bench.job(job).owner or "").startswith("probe@")
    probe.stop()
    running.result()
    assert (bench.state(job), bench.job(job).crashes) == (JobState.PENDING, 2)
