"""Find what nobody woke: dead owners, expired waits, due jobs, poison.

Every worker looks for the dead four times a second, and for due jobs at every other look; rows are
changed by one at a time, under a transaction lock that a frozen process cannot keep.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from habakkuk.core.failpoints import Failpoints
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs.contract import JobHandler
from habakkuk.jobs.lock import LockKeeper
from habakkuk.jobs.loop import Loop
from habakkuk.jobs.presence import host_number
from habakkuk.jobs.runner import Runner
from habakkuk.jobs.store import sweep as store
from habakkuk.jobs.store import waits
from habakkuk.jobs.store.fragments import POISON_CRASHES
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.store.sweep import Due, Taken
from habakkuk.jobs.types import Job, JobState
from habakkuk.jobs.wake import Wake

_log = get_logger("jobs.sweeper")
SWEEP_SECONDS = 0.25
_JITTER_SECONDS = 0.05
_MOST_OFFERS = 50
_SWEEPS_PER_OFFER = 2
_SWEEPS_PER_PROBE = 4


@dataclass(frozen=True)
class SweeperParts:
    """What a sweeper works with. `start_probe` is called while poison waits; it may repeat."""

    database: Database
    runner: Runner
    handlers: Mapping[str, JobHandler]
    wake: Wake
    failpoints: Failpoints
    locks: LockKeeper | None = None
    start_probe: Callable[[], None] = lambda: None


class Sweeper:
    """The sweep of one process."""

    def __init__(self, parts: SweeperParts) -> None:
        """Take a pool of its own: a busy one must not delay a takeover."""
        self._parts = parts
        self._sweeps = 0
        self._loop = Loop("sweeper", self._tick)

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def kick(self) -> None:
        """Sweep now, and look for everything."""
        self._sweeps = 0
        self._loop.kick()

    def stop(self) -> None:
        """End the thread."""
        self._loop.stop()

    def sweep(self) -> None:
        """Mend what there is to mend; now and then look for due jobs and for poison."""
        sweeps, self._sweeps = self._sweeps, self._sweeps + 1
        self.mend()
        if sweeps % _SWEEPS_PER_OFFER == 0:
            self.offer_due()
        if sweeps % _SWEEPS_PER_PROBE == 0:
            self._look_for_poison()

    def mend(self) -> None:
        """Take over from the dead, resolve what expired and set aside what died in the probe."""
        if not store.finds_something(self._parts.database):
            return
        taken: list[Taken] = []
        killers: list[Job] = []
        with self._parts.database.transaction() as work:
            if not store.alone(work):
                return
            taken = store.take_over(work)
            waits.expire(work)
            killers = store.killers(work)
        if taken:
            self._parts.failpoints.hit("job.takeover.after")
        for one in taken:
            self._pass_on(one)
        for job in killers:
            self._set_aside(job)

    def offer_due(self) -> None:
        """Offer due jobs to the free slots of this process."""
        free = self._parts.runner.free()
        if not free:
            return
        most = min(max(free.values()), _MOST_OFFERS)
        for due in self._gated(store.due(self._parts.database, list(free), most)):
            self._parts.runner.offer(due.queue, due.id)

    def _tick(self) -> float:
        self.sweep()
        return SWEEP_SECONDS + random.uniform(-_JITTER_SECONDS, _JITTER_SECONDS)  # noqa: S311 - jitter

    def _pass_on(self, taken: Taken) -> None:
        """Bring a job that was taken over to a worker: here when there is room, else anywhere."""
        _log.warning("took over a job", job=taken.id, crashes=taken.crashes, fence=taken.fence)
        if self._parts.locks is not None and taken.serial_key is not None:
            self._parts.locks.release(taken.serial_key, taken.fence, taken.owner_lock)
        if taken.crashes >= POISON_CRASHES and taken.queue in self._parts.runner.queues:
            # Now, not when poison is looked for: the start of a process takes long enough.
            self._parts.start_probe()
        elif self._parts.runner.offer(taken.queue, taken.id) is None:
            self._parts.wake.wake(taken.queue, taken.id)

    def _gated(self, found: list[Due]) -> list[Due]:
        """Leave out whose key somebody has claimed since: the lock shows it without a claim.

        Only a lock newer than the rows that were read counts. An older one is stale, since those
        rows say that nobody runs the key.
        """
        locks = self._parts.locks
        if locks is None:
            return found
        holders = locks.holders([due.serial_key for due in found if due.serial_key is not None])
        return [due for due in found if not _newer(holders.get(due.serial_key or ""), due)]

    def _set_aside(self, job: Job) -> None:
        """End a job that killed even the probe, and let its handler tell its person."""
        if job.fence is None:
            return
        lease = Lease(job.id, job.fence)
        reason = f"it killed its worker {job.crashes + 1} times and was set aside"
        _log.error("job set aside", job=job.id, kind=job.kind, crashes=job.crashes + 1)
        handler = self._parts.handlers.get(job.kind)
        try:
            self._end(job, lease, reason, handler)
        except DatabaseAway:
            # The next sweep finds it again.
            raise
        except Exception:  # noqa: BLE001 - the record is broken; the row must end all the same
            _log.exception("the end of a job could not be recorded", job=job.id)
            self._end(job, lease, reason, None)

    def _end(self, job: Job, lease: Lease, reason: str, handler: JobHandler | None) -> None:
        with self._parts.database.transaction() as work:
            if handler is not None:
                handler.lock(work, job)
            if store.set_aside(work, lease, reason) and handler is not None:
                handler.ended(work, job, JobState.FAILED, reason)

    def _look_for_poison(self) -> None:
        if store.poisoned(self._parts.database, self._parts.runner.queues, host_number()):
            self._parts.start_probe()


def _newer(holder: object, due: Due) -> bool:
    return getattr(holder, "fence", 0) > due.latest_fence
