"""Whole processes: killed, stopped, poisoned, with and without their broker."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from habakkuk.core.redis import command_client
from habakkuk.db.engine import Database
from habakkuk.db.migrate import migrate
from habakkuk.jobs.broker import RUN_JOB
from habakkuk.jobs.types import JobState
from habakkuk.jobs.wake import Producer
from scripts.drills.nursery import Nursery
from tests.integration.jobs.bench import Bench, until
from tests.integration.jobs.processes import Programs, start_nursery
from tests.servers import PostgresServer, ValkeyServer


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = start_nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture
def programs(
    nursery: Nursery, tmp_path: Path, fresh_database_url: str, redis_server: ValkeyServer
) -> Iterator[Programs]:
    made = Programs(nursery, tmp_path, fresh_database_url, redis_server.url())
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
    next(worker for worker in workers if worker.pid == pid).kill()
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
    worker.signal(signal.SIGTERM)
    until(worker.has_ended)
    row = bench.job(job)
    assert (row.state, row.crashes, row.attempt) == (JobState.PENDING, 0, 0)
    assert worker.code == 0
    assert bench.jobs.workers_alive() == []
    assert bench.sql("SELECT 1 FROM workers") == []


def test_a_stopped_worker_ends_even_when_a_job_does_not_let_go(
    bench: Bench, programs: Programs
) -> None:
    worker = programs.worker("one")
    job = play(bench, "effect:begin", "hang:60")
    started(programs, job)
    begun = time.monotonic()
    worker.signal(signal.SIGTERM)
    until(worker.has_ended)
    # Ten seconds from the signal are what a supervisor grants before it kills.
    assert time.monotonic() - begun < 10


def test_a_worker_stops_while_the_broker_is_away(
    bench: Bench, programs: Programs, redis_server: ValkeyServer
) -> None:
    worker = programs.worker("one")
    until(bench.jobs.workers_alive)
    redis_server.kill()
    worker.signal(signal.SIGTERM)
    until(worker.has_ended)
    assert bench.sql("SELECT 1 FROM workers") == []


def test_a_job_that_kills_every_worker_is_set_aside_by_the_probe_alone(
    bench: Bench, programs: Programs
) -> None:
    job = play(bench, "effect:begin", "kill-first:99")
    other = play(bench, "effect:other")
    crash_twice(programs)
    last = programs.worker("last")
    bench.reached(job, JobState.FAILED)
    assert not last.has_ended()
    assert "killed its worker 3 times" in (bench.job(job).error or "")
    ended = bench.sql("SELECT value FROM channel_state WHERE account = :j", j=job)
    assert ended[0].value[0] == "failed"
    bench.reached(other, JobState.DONE)


def test_a_bystander_that_moves_on_in_the_probe_goes_on_in_a_worker(
    bench: Bench, programs: Programs
) -> None:
    job = play(bench, "kill-first:2", "effect:step", "progress", "sleep:0", "effect:end")
    crash_twice(programs)
    last = programs.worker("last")
    bench.reached(job, JobState.DONE)
    steps = [effect["pid"] for effect in programs.done_effects()]
    in_the_probe, *in_the_worker = steps
    assert in_the_probe != last.pid
    assert in_the_worker == [last.pid] * 2
    assert bench.job(job).crashes == 0


def test_the_probe_finishes_its_job_though_its_worker_is_killed(
    bench: Bench, programs: Programs
) -> None:
    """Where workers die one after the other, its jobs would else wait until they stop dying."""
    job = play(bench, "kill-first:2", "effect:probe", "sleep:1", "effect:end")
    crash_twice(programs)
    last = programs.worker("last")
    started(programs, job)
    last.kill()
    bench.reached(job, JobState.DONE)


def test_the_probe_gives_its_job_back_when_its_worker_ends(
    bench: Bench, programs: Programs
) -> None:
    job = play(bench, "kill-first:2", "effect:probe", "sleep:60")
    crash_twice(programs)
    last = programs.worker("last")
    started(programs, job)
    last.signal(signal.SIGTERM)
    bench.reached(job, JobState.PENDING)
    assert bench.job(job).crashes == 2


def test_work_goes_on_without_the_broker(
    bench: Bench, programs: Programs, redis_server: ValkeyServer
) -> None:
    redis_server.kill()
    programs.worker("one")
    job = play(bench, "effect:done")
    bench.reached(job, JobState.DONE)


def test_a_restarted_broker_is_consumed_again_and_the_running_job_ran_once(
    bench: Bench, programs: Programs, redis_server: ValkeyServer
) -> None:
    worker = programs.worker("one")
    until(bench.jobs.workers_alive)
    job = play(bench, "effect:begin", "sleep:60")
    Producer(redis_server.url()).send("turns", RUN_JOB, [job])
    started(programs, job)
    for restart in range(6):
        redis_server.kill() if restart % 2 else redis_server.stop()
        redis_server.start()
        Producer(redis_server.url()).send("turns", RUN_JOB, ["nothing"])
        until(lambda: waiting_messages(redis_server) == 0, seconds=10)
    assert not worker.has_ended()
    assert len(programs.done_effects()) == 1
    assert bench.state(job) is JobState.RUNNING


def waiting_messages(server: ValkeyServer) -> int:
    client = command_client(server.url())
    try:
        return int(str(client.llen("hab:1:q:turns")))
    finally:
        client.close()


def test_a_job_outlives_a_crash_of_postgresql(
    nursery: Nursery,
    tmp_path: Path,
    postgres_server: PostgresServer,
    redis_server: ValkeyServer,
) -> None:
    url = postgres_server.url("postgres")
    migrate(url)
    database = Database(url, pool_size=4, name="test")
    bench = Bench(database)
    programs = Programs(nursery, tmp_path, url, redis_server.url())
    try:
        worker = programs.worker("one")
        until(bench.jobs.workers_alive)
        job = play(bench, "effect:begin", "sleep:3", "effect:end")
        started(programs, job)
        postgres_server.kill()
        postgres_server.start()
        bench.reached(job, JobState.DONE)
        row = bench.job(job)
        assert (row.crashes, row.attempt) == (0, 0)
        assert [effect["note"] for effect in programs.done_effects()] == ["begin", "end"]
        after = play(bench, "effect:after")
        bench.reached(after, JobState.DONE)
        assert not worker.has_ended()
    finally:
        programs.close()
        database.dispose()


@pytest.mark.parametrize("point", ["job.claim.after", "job.finish.before", "job.finish.after"])
def test_a_kill_at_a_step_boundary_loses_and_doubles_nothing(
    bench: Bench, programs: Programs, point: str
) -> None:
    producer = Producer(programs.environment["REDIS_URL"])
    programs.worker("safe")
    until(bench.jobs.workers_alive)
    doomed = programs.worker("doomed", HABAKKUK_FAILPOINT=f"{point}=#1")
    jobs: list[str] = []
    while not doomed.has_ended():
        job = play(bench, "effect:done", serial_key="s:1")
        jobs.append(job)
        producer.send("turns", RUN_JOB, [job])
        until(lambda: bench.state(jobs[-1]) is JobState.DONE or doomed.has_ended())
    for job in jobs:
        bench.reached(job, JobState.DONE)
    done = [effect["job"] for effect in programs.done_effects()]
    assert set(done) >= set(jobs)
    assert max(bench.job(job).crashes for job in jobs) <= 1


def test_a_sweeper_that_dies_of_its_takeover_leaves_the_job_to_the_next(
    bench: Bench, programs: Programs
) -> None:
    lease = bench.claimed(lock=99, kind="play", payload={"steps": ["effect:done"]})
    until(programs.worker("doomed", HABAKKUK_FAILPOINT="job.takeover.after=#1").has_ended)
    assert bench.job(lease.id).crashes == 1
    programs.worker("safe")
    bench.reached(lease.id, JobState.DONE)


def test_a_kill_just_before_the_release_is_one_crash(bench: Bench, programs: Programs) -> None:
    doomed = programs.worker("doomed", HABAKKUK_FAILPOINT="job.release.before=#1")
    job = play(bench, "effect:begin", "sleep:60")
    started(programs, job)
    doomed.signal(signal.SIGTERM)
    until(doomed.has_ended)
    assert doomed.code == -signal.SIGKILL
    programs.worker("safe")
    until(lambda: len(programs.done_effects()) == 2)
    assert bench.job(job).crashes == 1


def test_a_waiting_job_outlives_every_process(bench: Bench, programs: Programs) -> None:
    doomed = programs.worker("doomed", HABAKKUK_FAILPOINT="job.park.after=#1")
    job = play(bench, "wait:w1", "effect:answered")
    until(doomed.has_ended)
    assert (bench.state(job), bench.job(job).crashes) == (JobState.WAITING, 0)
    with bench.database.transaction() as work:
        assert bench.jobs.resolve(work, "w1", "approved")
    programs.worker("safe")
    bench.reached(job, JobState.DONE)
    assert len(programs.done_effects()) == 1
