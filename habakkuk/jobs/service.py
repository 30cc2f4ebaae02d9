"""Jobs for everybody else: enqueue, cancel, resolve, look, try again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from habakkuk.db.engine import Database, Work
from habakkuk.jobs.contract import JobHandler, Reopening
from habakkuk.jobs.store import queue, records, waits, workers
from habakkuk.jobs.store.records import Count
from habakkuk.jobs.store.workers import WorkerRow
from habakkuk.jobs.types import Job, JobState, NewJob, NewWait, Wait
from habakkuk.jobs.wake import Wake


class Jobs:
    """The service of a process. `handlers` by kind may be filled after this is made."""

    def __init__(self, database: Database, wake: Wake, handlers: Mapping[str, JobHandler]) -> None:
        """Take the pool, the wake-up port and the handlers that record ends."""
        self._database = database
        self._wake = wake
        self._handlers = handlers

    def enqueue(self, work: Work, job: NewJob) -> bool:
        """Add a job, woken after the commit; False when its id is known: then nothing changes."""
        added = queue.enqueue(work, job)
        if added and job.delay <= 0:
            work.after_commit(partial(self._wake.wake, str(job.queue), job.id))
        return added

    def announce(self, queue: str, job_id: str) -> None:
        """Wake a job that a committed statement of another store added."""
        self._wake.wake(queue, job_id)

    def cancel(self, work: Work, job_id: str, reason: str) -> JobState | None:
        """Cancel a job.

        RUNNING: its worker was told and will end it. CANCELLED: it had not begun or was waiting,
        and its end is recorded. None: it has ended or is not known.
        """
        job = records.read(work, job_id)
        if job is None or not job.state.alive:
            return None
        handler = self._handlers.get(job.kind)
        if handler is not None:
            handler.lock(work, job)
        locked = records.lock(work, job_id)
        if locked is None or not locked.state.alive:
            return None
        if locked.state is JobState.RUNNING:
            records.request_cancel(work, job_id, reason)
            return JobState.RUNNING
        records.cancel(work, job_id, reason)
        if handler is not None:
            handler.ended(work, locked, JobState.CANCELLED, reason)
        return JobState.CANCELLED

    def alive(self, work: Work, serial_key: str, kind: str) -> Sequence[str]:
        """Return the ids of a key's jobs of one kind that have not ended, in their order."""
        return records.alive(work, serial_key, kind)

    def resolve(
        self, work: Work, wait_id: str, outcome: str, answer: dict[str, Any] | None = None
    ) -> bool:
        """Resolve a wait, once; False when it is resolved already or unknown.

        Locks the job row: a conversation row that the caller needs must be locked before.
        """
        resolved, woken = waits.resolve(work, wait_id, outcome, answer)
        if woken is not None:
            work.after_commit(partial(self._wake.wake, *woken))
        return resolved

    def open_wait(self, work: Work, job_id: str, wait: NewWait) -> bool:
        """Let a job wait as soon as it parks; False when it has ended."""
        locked = records.lock(work, job_id)
        if locked is None or not locked.state.alive:
            return False
        waits.open_wait(work, job_id, wait)
        return True

    def let_go(
        self, work: Work, wait_id: str, outcome: str, answer: dict[str, Any] | None = None
    ) -> bool:
        """Resolve a wait with whose answer its job has nothing to do; False as for resolve."""
        resolved = self.resolve(work, wait_id, outcome, answer)
        wait = waits.get_in(work, wait_id)
        if resolved and wait is not None:
            waits.consume(work, wait.job_id, wait_id)
        return resolved

    def retry(self, work: Work, job_id: str) -> bool:
        """Run a failed job again, at the end of its key; False when it had not failed.

        Raises Conflict when what it was part of has gone on without it.
        """
        job = records.read(work, job_id)
        handler = self._handlers.get(job.kind) if job is not None else None
        if job is not None and handler is not None:
            handler.lock(work, job)
        locked = records.lock(work, job_id)
        if locked is None or locked.state is not JobState.FAILED:
            return False
        kind: object = handler
        if isinstance(kind, Reopening):
            kind.reopen(work, locked)
        queue_name = records.again(work, job_id)
        if queue_name is not None:
            work.after_commit(partial(self._wake.wake, queue_name, job_id))
        return queue_name is not None

    def get(self, job_id: str) -> Job | None:
        """Return one job."""
        return records.get(self._database, job_id)

    def get_wait(self, wait_id: str) -> Wait | None:
        """Return one wait."""
        return waits.get_wait(self._database, wait_id)

    def waits_of(self, work: Work, job_id: str) -> Sequence[Wait]:
        """Return every wait of a job, oldest first."""
        return waits.waits_of(work, job_id)

    def list(
        self,
        states: Sequence[JobState] = (),
        kind: str | None = None,
        crashes: int = 0,
        before: int | None = None,
        most: int = 50,
    ) -> list[Job]:
        """Return the latest jobs that fit, newest first: before number `before`.

        `crashes`: how many at least.
        """
        return records.listing(self._database, states, kind, crashes, before, most)

    def counts(self) -> Sequence[Count]:
        """Count the jobs that are alive or failed, by queue and state."""
        return records.counts(self._database)

    def workers_alive(self) -> Sequence[WorkerRow]:
        """Return the worker processes whose presence lock is held."""
        return workers.alive(self._database)
