"""Whole processes: killed, stopped, poisoned, with and without their broker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from habakkuk.db.engine import Database
from habakkuk.jobs.types import JobState
from tests.integration.jobs.bench import Bench, until
from tests.integration.jobs.processes import Programs
from tests.servers import ValkeyServer


@pytest.fixture
def programs(
    tmp_path: Path, fresh_database_url: str, redis_server: ValkeyServer
) -> Iterator[Programs]:
    made = Programs(tmp_path, fresh_database_url, redis_server.url())
    yield made
    made.close()


@pytest.fixture
def bench(fresh_database_url: str, programs: Programs) -> Iterator[Bench]:
    database = Database(fresh_database_url, pool_size=4, name="test")
    made = Bench(database)
    yield made
    made.close()
    programs.close()
    database.dispose()


def play(bench: Bench, *steps: str, **fields: Any) -> str:
    return bench.enqueue(kind="play", payload={"steps": list(steps)}, **fields)


def started(programs: Programs, job: str) -> None:
    until(lambda: any(effect["job"] == job for effect in programs.done_effects()))


def crash_twice(programs: Programs) -> None:
    for name in ("first", "second"):
        until(programs.worker(name).has_ended)


def test_a_killed_workers_job_goes_on_in_the_other_worker(bench: Bench, programs: Programs) -> None:
    workers = [programs.worker("one"), programs.worker("two")]
    job = play(bench, "effect:begin", "sleep:30", serial_key="s:1")
    started(programs, job)
    pid = programs.done_effects()[0]["pid"]
    next(worker for worker in workers if worker.popen.pid == pid).kill()
    until(lambda: len(programs.done_effects()) == 2)
    row = bench.job(job)
    assert (row.state, row.crashes, row.attempt) == (JobState.RUNNING, 1, 0)
    assert programs.done_effects()[1]["pid"] != pid


def test_a_stopped_worker_gives_its_jobs_back_and_ends_cleanly(
    bench: Bench, programs: Programs
) -> None:
    worker = programs.worker("one")
    job = play(bench, "effect:begin", "sleep:60")
    started(programs, job)
    worker.terminate()
    until(worker.has_ended)
    row = bench.job(job)
    assert (row.state, row.crashes, row.attempt) == (JobState.PENDING, 0, 0)
    assert worker.popen.returncode == 0
    assert bench.jobs.workers_alive() == []
    assert bench.sql("SELECT 1 FROM workers") == []


def test_a_stopped_worker_ends_even_when_a_job_does_not_let_go(
    bench: Bench, programs: Programs
) -> None:
    worker = programs.worker("one")
    job = play(bench, "effect:begin", "hang:60")
    started(programs, job)
    begun = time.monotonic()
    worker.terminate()
    until(worker.has_ended)
    # Ten seconds from the signal are what a supervisor grants before it kills.
    assert time.monotonic() - begun < 10


def test_a_worker_stops_while_the_broker_is_away(
    bench: Bench, programs: Programs, redis_server: ValkeyServer
) -> None:
    worker = programs.worker("one")
    until(bench.jobs.workers_alive)
    redis_server.kill()
    worker.terminate()
    until(worker.has_ended)
    assert bench.sql("SELECT 1 FROM workers") == []


def test_a_job_that_kills_every_worker_is_set_aside_by_the_probe_alone(
    bench: Bench, programs: Programs
) -> None:
    job = play(bench, "effect:begin", "kill-below:99")
    other = play(bench, "effect:other")
    crash_twice(programs)
    last = programs.worker("last")
    bench.reached(job, JobState.FAILED)
    assert not last.has_ended()
    assert "killed its worker 3 times" in (bench.job(job).error or "")
    ended = bench.sql("SELECT value FROM channel_state WHERE account = :j", j=job)
    assert ended[0].value[0] == "failed"
    bench.reached(other, JobState.DONE)


def test_a_bystander_that_moves_on_in_the_probe_is_back_at_zero(
    bench: Bench, programs: Programs
) -> None:
    job = play(bench, "kill-below:2", "progress", "effect:moved", "sleep:30")
    crash_twice(programs)
    programs.worker("last")
    started(programs, job)
    row = bench.job(job)
    assert (row.state, row.crashes) == (JobState.RUNNING, 0)
    assert (row.owner or "").startswith("probe@")


def test_the_probe_gives_its_job_back_when_its_worker_dies(
    bench: Bench, programs: Programs
) -> None:
    job = play(bench, "kill-below:2", "effect:probe", "sleep:60")
    crash_twice(programs)
    last = programs.worker("last")
    started(programs, job)
    last.kill()
    bench.reached(job, JobState.PENDING)
    assert bench.job(job).crashes == 2


def test_work_goes_on_without_the_broker(
    bench: Bench, programs: Programs, redis_server: ValkeyServer
) -> None:
    redis_server.kill()
    programs.worker("one")
    job = play(bench, "effect:done")
    bench.reached(job, JobState.DONE)
