"""What a job kind gives to the Runner, and what the Runner gives to a running job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from habakkuk.core.errors import HabakkukError
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupt
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.types import Job, JobState, NewWait, Queue, Wait


class Retry(HabakkukError):
    """Raised by a handler: this attempt failed, another may succeed.

    `after` in seconds replaces the back-off; `fatal` ends the job at once. The message is stored.
    """

    def __init__(self, message: str, *, after: float | None = None, fatal: bool = False) -> None:
        """Keep the advice."""
        super().__init__(message)
        self.after = after
        self.fatal = fatal


class JobContext(Protocol):
    """What a running job may use. Every write that must not outlive the lease starts with a guard.

    Lock order: conversation row, then the job row (guard), then the rest.
    """

    @property
    def job(self) -> Job:
        """The row as it was claimed, without what progress made it forget since."""
        ...

    @property
    def fence(self) -> int:
        """The fence of this claim; higher than that of every earlier one."""
        ...

    @property
    def interrupt(self) -> Interrupt:
        """Trips when the job is cancelled, its lease is lost or the process stops."""
        ...

    @property
    def database(self) -> Database:
        """The pool of this process."""
        ...

    @property
    def failpoints(self) -> Failpoints:
        """The armed points of this process."""
        ...

    def guard(self, work: Work) -> None:
        """Prove the lease inside `work` (FOR SHARE). Raises Interrupted(LEASE_LOST)."""
        ...

    def guard_change(self, work: Work) -> None:
        """As guard, for a transaction that also changes the job row (FOR NO KEY UPDATE)."""
        ...

    def progressed(self, work: Work) -> None:
        """Say that the job moved on: crashes above 0 go back to 0. After guard_change."""
        ...

    def moved_on_elsewhere(self) -> None:
        """Note that a committed statement of the handler's own store forgot what failed so far.

        That is attempts and crashes: the run has all of its tries again.
        """
        ...

    def finish(self, work: Work, state: JobState, **detail: Any) -> None:
        """End the job inside `work` as done, failed or cancelled.

        `result=` (a JSON object) and `error=` (text) are stored. Guards by itself: raises
        Interrupted(LEASE_LOST) when the lease is gone. Notifies `done` with the commit.
        """
        ...

    def finished_elsewhere(self, *, more: bool = True) -> None:
        """Note that a committed statement of the handler's own store ended the job.

        `more`: another job of its key may wait, which nobody else wakes.
        """
        ...

    def open_wait(self, work: Work, wait: NewWait) -> None:
        """Add a wait; a repeated id is a no-op. After guard."""
        ...

    def waits(self, work: Work) -> Sequence[Wait]:
        """Return every wait of the job, oldest first."""
        ...

    def waited(self) -> float:
        """Return for how many seconds the job has waited for what is resolved by now.

        And for a worker, while none was there.
        """
        ...

    def note_absence(self, work: Work) -> None:
        """Count as waited how long nobody was there to run the job, which goes on.

        For a handler that looks at `waited`, at the start of a run that is not the first.
        """
        ...

    def consume(self, work: Work, wait_id: str) -> None:
        """Mark a resolved wait as used."""
        ...

    def park(self) -> bool:
        """Give the slot back until a wait is resolved; its own transaction.

        True: the job is parked and `run` must return at once. False: a wait is resolved and not
        consumed, or none is open; go on. Raises Interrupted when the lease is gone or the job
        was cancelled.
        """
        ...


@runtime_checkable
class Reopening(Protocol):
    """A handler whose failed jobs need to be prepared before they run again."""

    def reopen(self, work: Work, job: Job) -> None:
        """Take back the recorded end, after `lock`. Raises Conflict when it is too late."""
        ...


class JobHandler(Protocol):
    """One job kind. `run` may be called again after any crash and must find its place."""

    @property
    def kind(self) -> str:
        """The kind, as stored."""
        ...

    @property
    def queue(self) -> Queue:
        """The queue that its jobs wait in."""
        ...

    def run(self, context: JobContext) -> None:
        """Do the work. Returning without `finish` or `park` ends the job as done.

        Retry and retryable ExternalErrors are tried again up to max_attempts; other exceptions
        too. Interrupted is passed on. What the job ends with otherwise goes through `ended`.
        """
        ...

    def lock(self, work: Work, job: Job) -> None:
        """Lock what must be locked before the job row, when somebody else ends the job."""
        ...

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:
        """Record an end that `run` did not write itself: given up, set aside, cancelled.

        In the transaction that ends the job, after `lock`. `reason` is for people.
        """
        ...
