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

    def __init__(self, database: Database) -> None:
        self.database = database
        self.handler = ScriptedHandler()
        self.wake = MemoryWake()
        self.jobs = Jobs(database, self.wake, {"test": self.handler})
        self.leases = Leases(Clock())
        self._numbers = count(1)
        self.runners: list[Runner] = []

    def runner(self, size: int = 4, lock: int = 7, failpoints: str = "") -> Runner:
        parts = RunnerParts(
            database=self.database,
            handlers={"test": self.handler},
            owner=Owner("test", lock),
            leases=self.leases,
            failpoints=Failpoints(failpoints),
            clock=Clock(),
        )
        made = Runner(parts, {"turns": size})
        made.open()
        self.runners.append(made)
        return made

    def enqueue(self, **fields: Any) -> str:
        values = {"id": f"j{next(self._numbers)}", "kind": "test", "queue": Queue.TURNS} | fields
        with self.database.transaction() as work:
            self.jobs.enqueue(work, NewJob(**values))
        return str(values["id"])

    def job(self, job_id: str) -> Job:
        found = self.jobs.get(job_id)
        assert found is not None
        return found

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


def until(condition: Callable[[], object], seconds: float = 15.0) -> None:
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
