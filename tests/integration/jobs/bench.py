"""What the tests of jobs share: a process in miniature, and handlers that do as they are told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from sqlalchemy import text

from habakkuk.core.clock import Clock
from habakkuk.core.failpoints import Failpoints
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.leases import Leases
from habakkuk.jobs.runner import Runner, RunnerParts
from habakkuk.jobs.service import Jobs
from habakkuk.jobs.store import queue
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.store.queue import Owner
from habakkuk.jobs.types import Job, JobState, NewJob, Queue
from habakkuk.jobs.wake import MemoryWake

Run = Callable[[JobContext], None]


class ScriptedHandler:
    """Runs what a test gives it and keeps what it was told."""

    queue = Queue.TURNS

    def __init__(self, kind: str = "test", run: Run = lambda context: None) -> None:
        self.kind = kind
        self.run_with: Run = run
        self.runs: list[str] = []
        self.ends: list[tuple[str, JobState, str]] = []
        self.locked: list[str] = []

    def run(self, context: JobContext) -> None:
        self.runs.append(context.job.id)
        self.run_with(context)

    def lock(self, work: Work, job: Job) -> None:
        self.locked.append(job.id)

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:
        self.ends.append((job.id, state, reason))


class Bench:
    """One process in miniature: a Runner with one handler, without threads around it."""

    # Stands for whatever changes the job's own row.
    touch = text("UPDATE jobs SET priority = priority WHERE id = :job")
    # Stands for whatever a running job writes.
    append = text(
        "INSERT INTO channel_state (channel, account, name, value)"
        " VALUES ('test', :job, 'append', '{}')"
    )

    def __init__(self, database: Database) -> None:
        self.database = database
        self.handler = ScriptedHandler()
        self.wake = MemoryWake()
        self.jobs = Jobs(database, self.wake, {"test": self.handler})
        self.leases = Leases(Clock())
        self._numbers = count(1)
        self.runners: list[Runner] = []

    def parts(self, lock: int = 7) -> RunnerParts:
        return RunnerParts(
            database=self.database,
            handlers={"test": self.handler},
            owner=Owner("test", lock),
            leases=self.leases,
            failpoints=Failpoints(),
            clock=Clock(),
        )

    def runner(self, size: int = 4) -> Runner:
        made = Runner(self.parts(), {"turns": size})
        made.open()
        self.runners.append(made)
        return made

    def new(self, **fields: Any) -> NewJob:
        values = {"id": f"j{next(self._numbers)}", "kind": "test", "queue": Queue.TURNS} | fields
        return NewJob(**values)

    def enqueue(self, **fields: Any) -> str:
        job = self.new(**fields)
        with self.database.transaction() as work:
            self.jobs.enqueue(work, job)
        return job.id

    def presences(self) -> list[int]:
        """The server processes that hold a presence lock in this database."""
        rows = self.sql(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 7777 AND database"
            " = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        return [row.pid for row in rows]

    def blocked(self) -> bool:
        """Whether some statement waits for a lock now."""
        return bool(
            self.sql(
                "SELECT 1 FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
        )

    def settled(self, runner: Runner) -> None:
        """Wait until every slot of the runner is free again."""
        until(lambda: self._free_slots(runner))

    def _free_slots(self, runner: Runner) -> bool:
        return all(pool.free == pool._size for pool in runner._pools.values())

    def job(self, job_id: str) -> Job:
        found = self.jobs.get(job_id)
        assert found is not None
        return found

    def claimed(self, lock: int = 1, **fields: Any) -> Lease:
        """Enqueue a job and claim it; the proof of the claim."""
        job = queue.claim_one(self.database, self.enqueue(**fields), Owner("test", lock))
        assert job is not None
        assert job.fence is not None
        return Lease(job.id, job.fence)

    def state(self, job_id: str) -> JobState:
        return self.job(job_id).state

    def sql(self, statement: str, **params: Any) -> Sequence[Any]:
        return self.database.run(text(statement), **params)

    def reached(self, job_id: str, *states: JobState) -> JobState:
        until(lambda: self.state(job_id) in states)
        return self.state(job_id)

    def close(self) -> None:
        for runner in self.runners:
            runner.stop()
            assert runner.wait_idle(10)


def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for a condition; fails loudly when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("the awaited condition did not come about")
        time.sleep(0.01)


def in_threads(number: int, action: Callable[[int], None]) -> None:
    """Run `action` in so many threads that start together; re-raise the first failure."""
    barrier = threading.Barrier(number)
    failures: list[BaseException] = []

    def body(index: int) -> None:
        try:
            barrier.wait()
            action(index)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=body, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
