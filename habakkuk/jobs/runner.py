"""The one way to claim and run a job: a bounded pool of threads for each queue of a process."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from habakkuk.core.clock import Clock
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.core.redaction import Redactor
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs.context import RunningJob, Surroundings
from habakkuk.jobs.contract import JobHandler
from habakkuk.jobs.ending import Ending, Verdict, judge
from habakkuk.jobs.leases import Leases
from habakkuk.jobs.lock import LockKeeper
from habakkuk.jobs.slots import Slots, Ticket
from habakkuk.jobs.store import queue as queues
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.store.queue import Owner
from habakkuk.jobs.types import Job

_log = get_logger("jobs")


@dataclass(frozen=True)
class RunnerParts:
    """What a Runner is made of.

    `locks` None: no lock is shown in Redis. `hand_back`: jobs that moved on go on elsewhere.
    """

    database: Database
    handlers: Mapping[str, JobHandler]
    owner: Owner
    leases: Leases
    failpoints: Failpoints
    clock: Clock
    locks: LockKeeper | None = None
    redactor: Redactor = field(default_factory=Redactor)
    hand_back: bool = False


class Runner:
    """Claims and runs jobs. Claims nothing before `open` and after `stop`."""

    def __init__(self, parts: RunnerParts, sizes: Mapping[str, int]) -> None:
        """Prepare a pool for each queue in `sizes`; threads start when they are needed."""
        self._parts = parts
        self._shared = Surroundings(parts.database, parts.failpoints, parts.hand_back)
        self._ending = Ending(parts.clock, parts.redactor)
        self._open = False
        self._stopping = False
        self._idle = threading.Condition()
        self._active = 0
        self._pools = {name: self._pool(name, size) for name, size in sizes.items()}

    @property
    def queues(self) -> list[str]:
        """The queues that this process serves."""
        return list(self._pools)

    @property
    def active(self) -> int:
        """How many jobs run at this moment."""
        return self._active

    def open(self) -> None:
        """Begin to claim: the presence lock is held."""
        with self._idle:
            self._open = not self._stopping

    def shut(self) -> None:
        """Claim nothing for now; what runs goes on."""
        self._open = False

    def offer(self, queue: str, job_id: str) -> Ticket | None:
        """Take a job to claim and run; None when the queue is not served or its pool is full."""
        pool = self._pools.get(queue)
        if pool is None or not self._open:
            return None
        return pool.offer(job_id)

    def free(self) -> dict[str, int]:
        """Return the free slots of every queue that has some; nothing while nothing is claimed."""
        if not self._open:
            return {}
        return {name: pool.free for name, pool in self._pools.items() if pool.free > 0}

    def stop(self) -> None:
        """Take no more jobs and interrupt those that run, so that their rows are released."""
        with self._idle:
            self._stopping = True
            self._open = False
        for pool in self._pools.values():
            pool.close()
        self._parts.leases.stop()

    def wait_idle(self, seconds: float) -> bool:
        """Wait until nothing runs; False when the time was over first."""
        with self._idle:
            return self._idle.wait_for(lambda: self._active == 0, seconds)

    def _pool(self, name: str, size: int) -> Slots:
        return Slots(name, size, self._serve, lambda: self._refill(name))

    def _serve(self, job_id: str) -> bool:
        """Run that job; True when its end may have left another one to nobody."""
        ran = self._claim_and_run(job_id=job_id)
        return ran is not None and ran.more

    def _refill(self, queue: str) -> bool:
        """Run the next job of that queue; False when there was none."""
        return self._claim_and_run(queue=queue) is not None

    def _claim_and_run(self, *, job_id: str = "", queue: str = "") -> RunningJob | None:
        """Claim that job, or the next of that queue, and run it; None when there was none."""
        if not self._entered():
            return None
        try:
            since = self._parts.clock.monotonic()
            job = self._claim(job_id, queue)
            return None if job is None else self.run(job, since)
        except DatabaseAway as error:
            _log.warning("the database is away", detail=error.detail)
            return None
        except Exception:  # noqa: BLE001 - a task top
            # The row is left to the sweep: its lease ends, or this process does.
            _log.exception("job could not be run")
            return None
        finally:
            with self._idle:
                self._active -= 1
                self._idle.notify_all()

    def _entered(self) -> bool:
        """Count this thread in, unless nothing may be claimed: `stop` then need not wait for it."""
        with self._idle:
            if self._open:
                self._active += 1
            return self._open

    def _claim(self, job_id: str, queue: str) -> Job | None:
        if job_id:
            return queues.claim_one(self._parts.database, job_id, self._parts.owner)
        return queues.claim_next(self._parts.database, queue, self._parts.owner)

    def run(self, job: Job, since: float) -> RunningJob:
        """Run a job that was claimed in a request begun at `since`, to its end."""
        assert job.fence is not None, "a claimed row has a fence"  # noqa: S101 - the statement sets it
        lease = Lease(job.id, job.fence)
        context = RunningJob(job, lease, self._shared, self._left)
        with structlog.contextvars.bound_contextvars(job=job.id, kind=job.kind, fence=job.fence):
            self._hold(context, since)
            try:
                self._parts.failpoints.hit("job.claim.after")
                self._handle(context, self._parts.handlers.get(job.kind))
            finally:
                self._left(lease)
        return context

    def _hold(self, context: RunningJob, since: float) -> None:
        job, parts = context.job, self._parts
        parts.leases.add(context.lease, job.serial_key, context.interrupt, since)
        if parts.locks is not None and job.serial_key is not None:
            parts.locks.acquire(job.serial_key, context.fence)
        if self._stopping:
            context.interrupt.trip(Reason.STOPPING)
        if job.cancel_requested:
            context.interrupt.trip(Reason.CANCELLED)

    def _handle(self, context: RunningJob, handler: JobHandler | None) -> None:
        if handler is None:
            message = f"no code here handles jobs of the kind {context.job.kind!r}"
            _log.error("job of an unknown kind")
            self._ending.carry_out(context, None, Verdict("fail", message))
            return
        try:
            context.interrupt.check()
            handler.run(context)
        except Exception as error:  # noqa: BLE001 - a task top: judged, logged and stored
            self._fell(context, handler, error)
        else:
            if not context.over:
                self._ending.done(context)

    def _fell(self, context: RunningJob, handler: JobHandler, error: Exception) -> None:
        verdict = judge(context, error)
        if verdict.kind in {"retry", "fail"}:
            _log.warning("job failed", verdict=verdict.kind, exc_info=error)
        elif not isinstance(error, Interrupted):
            _log.info("interrupted job raised", verdict=verdict.kind, error=type(error).__name__)
        try:
            self._ending.carry_out(context, handler, verdict)
        except DatabaseAway:
            raise
        except Exception:  # noqa: BLE001 - a task top: logged, then ended without the record
            # The handler's own record failed; the row must still end, or it would crash for ever.
            _log.exception("the end of a job could not be recorded", verdict=verdict.kind)
            self._ending.carry_out(context, None, verdict)

    def _left(self, lease: Lease) -> None:
        """Let go of a job that ended, parked or was lost; safe to repeat."""
        holding = self._parts.leases.drop(lease.fence)
        locks = self._parts.locks
        if holding is not None and holding.serial_key is not None and locks is not None:
            locks.release(holding.serial_key, lease.fence)
