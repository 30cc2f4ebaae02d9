"""The parts of a worker process together, in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.redaction import Redactor
from habakkuk.core.redis import RedisGate
from habakkuk.db.engine import Database
from habakkuk.jobs.contract import JobContext, JobHandler
from habakkuk.jobs.host import Host, Identity
from habakkuk.jobs.types import JobState
from habakkuk.jobs.wake import MemoryWake
from tests.integration.jobs.bench import Bench, until


@dataclass
class Source:
    """A container around the bench's handler."""

    settings: Settings
    database: Database
    redis: RedisGate | None
    failpoints: Failpoints
    rewake: MemoryWake
    handlers: dict[str, JobHandler]
    warmed: list[str] = field(default_factory=list)
    may_warm: threading.Event = field(default_factory=threading.Event)
    redactor: Redactor = field(default_factory=Redactor)

    def warm(self) -> None:
        assert self.may_warm.wait(10)
        self.warmed.append("warm")

    def maintain(self) -> None:
        return None

    def close(self) -> None:
        return None


@pytest.fixture
def source(bench: Bench, redis_url: str, home: Path) -> Source:
    made = Source(
        load_settings(),
        bench.database,
        RedisGate(redis_url),
        Failpoints(),
        bench.wake,
        {"test": bench.handler},
    )
    made.may_warm.set()
    return made


@pytest.fixture
def host(source: Source) -> Iterator[Host]:
    made = Host(source, Identity("me@here", "worker", "1.2.3"), {"turns": 4})
    made.start()
    yield made
    made.stop(10)


def test_it_takes_up_what_nobody_woke(bench: Bench, host: Host) -> None:
    job = bench.enqueue()
    bench.reached(job, JobState.DONE)


def test_nothing_runs_before_it_is_warm(bench: Bench, source: Source) -> None:
    source.may_warm.clear()
    host = Host(source, Identity("me@here", "worker", "1"), {"turns": 4})
    job = bench.enqueue()
    host.start()
    until(bench.presences)
    assert host.offer("turns", job) is None
    assert bench.state(job) is JobState.PENDING
    source.may_warm.set()
    bench.reached(job, JobState.DONE)
    assert source.warmed == ["warm"]
    host.stop(10)


def test_it_shows_itself_while_it_lives(bench: Bench, host: Host) -> None:
    until(bench.jobs.workers_alive)
    (row,) = bench.jobs.workers_alive()
    assert (row.role, row.version, list(row.queues)) == ("worker", "1.2.3", ["turns"])
    host.stop(10)
    assert bench.jobs.workers_alive() == []
    assert bench.sql("SELECT 1 FROM workers") == []


def test_a_cancellation_reaches_the_running_job_without_a_heartbeat(
    bench: Bench, host: Host
) -> None:
    def work(context: JobContext) -> None:
        context.interrupt.wait(60)
        context.interrupt.check()

    bench.handler.run_with = work
    job = bench.enqueue()
    bench.reached(job, JobState.RUNNING)
    with bench.database.transaction() as open_work:
        bench.jobs.cancel(open_work, job, "stop")
    bench.reached(job, JobState.CANCELLED)


def test_without_its_presence_it_claims_nothing_until_it_is_held_again(
    bench: Bench, host: Host
) -> None:
    until(lambda: host.opened)
    (pid,) = bench.presences()
    bench.sql("SELECT pg_terminate_backend(:p)", p=pid)
    until(lambda: bench.presences() not in ([], [pid]))
    job = bench.enqueue()
    bench.reached(job, JobState.DONE)


def test_its_stop_gives_running_jobs_back(bench: Bench, host: Host) -> None:
    def work(context: JobContext) -> None:
        context.interrupt.wait(60)
        context.interrupt.check()

    bench.handler.run_with = work
    job = bench.enqueue()
    bench.reached(job, JobState.RUNNING)
    assert host.stop(10)
    assert bench.state(job) is JobState.PENDING


def test_a_stop_says_when_a_job_does_not_let_go(bench: Bench, host: Host) -> None:
    gate = threading.Event()
    bench.handler.run_with = lambda context: (gate.wait(30), None)[1]
    job = bench.enqueue()
    bench.reached(job, JobState.RUNNING)
    assert not host.stop(0.1)
    gate.set()
    bench.reached(job, JobState.DONE)


def test_the_lock_of_a_running_key_shows_in_redis(bench: Bench, host: Host, source: Source) -> None:
    gate = threading.Event()
    bench.handler.run_with = lambda context: (gate.wait(30), None)[1]
    job = bench.enqueue(serial_key="s:1")
    bench.reached(job, JobState.RUNNING)
    assert source.redis is not None
    redis = source.redis
    until(lambda: redis.call(lambda client: client.get("hab:1:lock:s:1")))
    held = str(redis.call(lambda client: client.get("hab:1:lock:s:1")))
    assert held.startswith(f"{bench.job(job).fence}:")
    gate.set()
    bench.reached(job, JobState.DONE)
    until(lambda: redis.call(lambda client: client.get("hab:1:lock:s:1")) is None)
