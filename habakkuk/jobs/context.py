"""What the Runner gives to one run of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.store import lease as leases
from habakkuk.jobs.store import waits
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.types import Job, JobState, NewWait, Wait


@dataclass(frozen=True)
class Surroundings:
    """What every run of a process shares. `hand_back`: it gives away a job that moved on."""

    database: Database
    failpoints: Failpoints
    hand_back: bool = False


class RunningJob:
    """One claim of one job: the JobContext of its handler.

    `left` is called as soon as the lease is given up by a commit (finished or parked).
    """

    def __init__(
        self, job: Job, lease: Lease, shared: Surroundings, left: Callable[[Lease], None]
    ) -> None:
        """Begin with a claimed row."""
        self._job = job
        self._lease = lease
        self._shared = shared
        self._left = left
        self._interrupt = Interrupt()
        self._over = False
        self._more = True

    @property
    def more(self) -> bool:
        """Whether another job of the key may wait for this one's end."""
        return self._more

    @property
    def job(self) -> Job:
        """The row as it was claimed, without what progress made it forget since."""
        return self._job

    @property
    def fence(self) -> int:
        """The fence of this claim."""
        return self._lease.fence

    @property
    def lease(self) -> Lease:
        """The proof of this claim."""
        return self._lease

    @property
    def interrupt(self) -> Interrupt:
        """Trips when the job is cancelled, its lease is lost or the process stops."""
        return self._interrupt

    @property
    def database(self) -> Database:
        """The pool of this process."""
        return self._shared.database

    @property
    def failpoints(self) -> Failpoints:
        """The armed points of this process."""
        return self._shared.failpoints

    @property
    def over(self) -> bool:
        """Whether a commit finished or parked the job: nothing is left to write."""
        return self._over

    def guard(self, work: Work) -> None:
        """Prove the lease inside `work`. Raises Interrupted(LEASE_LOST)."""
        if not leases.guard(work, self._lease):
            raise Interrupted(Reason.LEASE_LOST)

    def guard_change(self, work: Work) -> None:
        """As guard, for a transaction that also changes the job row."""
        if leases.guard_change(work, self._lease) is None:
            raise Interrupted(Reason.LEASE_LOST)

    def progressed(self, work: Work) -> None:
        """Forget the crashes, when there were any. After guard_change."""
        if self._job.crashes > 0:
            leases.progressed(work, self._lease)
            work.after_commit(self._moved_on)

    def moved_on_elsewhere(self) -> None:
        """Note that a committed statement of the handler's own store forgot what failed so far."""
        self._job = replace(self._job, attempt=0)
        self._moved_on()

    def finish(self, work: Work, state: JobState, **detail: Any) -> None:
        """End the job inside `work`; `result=` and `error=` are stored."""
        self._about_to_finish()
        if not leases.finish(work, self._lease, state, detail):
            raise Interrupted(Reason.LEASE_LOST)
        work.after_commit(self._finished)

    def finish_alone(self, state: JobState, **detail: Any) -> None:
        """End the job in one round trip of its own."""
        self._about_to_finish()
        if not leases.finish_alone(self.database, self._lease, state, detail):
            raise Interrupted(Reason.LEASE_LOST)
        self._finished()

    def finished_elsewhere(self, *, more: bool = True) -> None:
        """Note that a committed statement of the handler's own store ended the job."""
        self._more = more
        self._leave()

    def open_wait(self, work: Work, wait: NewWait) -> None:
        """Add a wait; a repeated id is a no-op. After guard."""
        waits.open_wait(work, self._job.id, wait)

    def waits(self, work: Work) -> Sequence[Wait]:
        """Return every wait of the job, oldest first."""
        return waits.waits_of(work, self._job.id)

    def waited(self) -> float:
        """Return for how many seconds the job has waited for what is resolved by now.

        And for a worker, while none was there.
        """
        return waits.waited(self.database, self._job.id)

    def note_absence(self, work: Work) -> None:
        """Count as waited how long nobody was there to run the job, which goes on."""
        waits.note_absence(work, self._lease)

    def consume(self, work: Work, wait_id: str) -> None:
        """Mark a resolved wait as used."""
        waits.consume(work, self._job.id, wait_id)

    def park(self) -> bool:
        """Give the slot back until a wait is resolved; False when there is no need to wait.

        Raises Interrupted, also when the job was cancelled and the notice is still on its way: it
        would not find a parked job.
        """
        with self.database.transaction() as work:
            found = leases.guard_change(work, self._lease)
            if found is None:
                raise Interrupted(Reason.LEASE_LOST)
            if found.requested:
                self._interrupt.trip(Reason.CANCELLED)
                raise Interrupted(Reason.CANCELLED)
            parked = bool(waits.park(work, self._lease))
            if parked:
                work.after_commit(self._leave)
        if parked:
            self.failpoints.hit("job.park.after")
        return parked

    def _moved_on(self) -> None:
        """Let the next check of the interrupt end this run, where others shall go on."""
        self._job = replace(self._job, crashes=0)
        if self._shared.hand_back:
            self._interrupt.trip(Reason.STOPPING)

    def _about_to_finish(self) -> None:
        self.failpoints.hit("job.finish.before")

    def _finished(self) -> None:
        self.failpoints.hit("job.finish.after")
        self._leave()

    def _leave(self) -> None:
        self._over = True
        self._left(self._lease)
