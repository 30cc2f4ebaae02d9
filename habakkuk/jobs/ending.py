"""How a run ends: from what the handler raised to what the row says."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from habakkuk.core.clock import Clock
from habakkuk.core.errors import ExternalError
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.core.redaction import Redactor
from habakkuk.db.engine import DatabaseAway
from habakkuk.jobs.context import RunningJob
from habakkuk.jobs.contract import JobHandler, Retry
from habakkuk.jobs.leases import TRUST_SECONDS
from habakkuk.jobs.store import lease as leases
from habakkuk.jobs.types import JobState

_log = get_logger("jobs")
# A job that met a missing database comes back a little later, not at once in a circle.
_AWAY_DELAY_SECONDS = 1.0
_AWAY_PAUSE_SECONDS = 0.5


@dataclass(frozen=True)
class Verdict:
    """What follows from an exception; `after` in seconds replaces the back-off.

    `asked` is the wait that another system asked for, which the back-off may exceed.
    """

    kind: Literal["nothing", "release", "cancel", "retry", "fail"]
    message: str = ""
    after: float | None = None
    asked: float | None = None


def judge(run: RunningJob, error: Exception) -> Verdict:
    """Decide what follows. What was interrupted fails in many ways: the interrupt counts first."""
    reason = run.interrupt.reason
    if isinstance(error, Interrupted):
        reason = max(filter(None, (reason, error.reason)), default=None)
    if run.over or reason is Reason.LEASE_LOST:
        return Verdict("nothing")
    if reason is not None:
        return Verdict("cancel" if reason is Reason.CANCELLED else "release")
    if isinstance(error, DatabaseAway):
        return Verdict("release", after=_AWAY_DELAY_SECONDS)
    last = run.job.attempt + 1 >= run.job.max_attempts
    kind: Literal["fail", "retry"] = "fail" if last or _is_fatal(error) else "retry"
    after = error.after if isinstance(error, Retry) else None
    asked = error.retry_after if isinstance(error, ExternalError) else None
    return Verdict(kind, _message(error), after, asked)


def _is_fatal(error: Exception) -> bool:
    if isinstance(error, Retry):
        return error.fatal
    return isinstance(error, ExternalError) and not error.retryable


def _message(error: Exception) -> str:
    text = str(error).replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    return f"{type(error).__name__}: {text}"[:2000]


class Ending:
    """Writes the ends that a handler did not write itself."""

    def __init__(self, clock: Clock, redactor: Redactor) -> None:
        """Take the clock that bounds how long a missing database is waited for.

        The errors of jobs are stored and shown: `redactor` takes secrets out of them.
        """
        self._clock = clock
        self._redactor = redactor

    def carry_out(self, run: RunningJob, handler: JobHandler | None, verdict: Verdict) -> None:
        """Write the verdict. Keeps trying while PostgreSQL is away and the lease can be trusted."""
        verdict = replace(verdict, message=self._redactor.text(verdict.message))
        if verdict.kind == "release":
            self._insist(run, lambda: self._release(run, verdict.after or 0.0))
        elif verdict.kind == "retry":
            self._insist(run, lambda: self._retry(run, verdict))
        elif verdict.kind in {"fail", "cancel"}:
            state = JobState.FAILED if verdict.kind == "fail" else JobState.CANCELLED
            self._insist(run, lambda: self.end(run, handler, state, verdict.message))

    def done(self, run: RunningJob) -> None:
        """End the job as done, for a handler that returned without saying so."""
        self._insist(run, lambda: run.finish_alone(JobState.DONE))

    def end(
        self, run: RunningJob, handler: JobHandler | None, state: JobState, message: str
    ) -> None:
        """End the job and let its handler record it, in one transaction."""
        with run.database.transaction() as work:
            if handler is not None:
                handler.lock(work, run.job)
            found = leases.guard_change(work, run.lease)
            if found is None:
                raise Interrupted(Reason.LEASE_LOST)
            reason = message or (found.reason if found.requested else None) or "cancelled"
            if handler is not None:
                handler.ended(work, run.job, state, reason)
            run.finish(work, state, error=reason)

    def _release(self, run: RunningJob, delay: float) -> None:
        run.failpoints.hit("job.release.before")
        if not leases.release(run.database, run.lease, delay):
            raise Interrupted(Reason.LEASE_LOST)

    def _retry(self, run: RunningJob, verdict: Verdict) -> None:
        waits = verdict.after, verdict.asked
        if not leases.retry(run.database, run.lease, verdict.message, *waits):
            raise Interrupted(Reason.LEASE_LOST)
        _log.warning("job will be tried again", error=verdict.message)

    def _insist(self, run: RunningJob, action: Callable[[], None]) -> None:
        """Repeat `action` over an outage: a row left running would be taken for a crash."""
        until = self._clock.monotonic() + TRUST_SECONDS
        while True:
            try:
                action()
            except Interrupted:
                # Taken over, or the commit whose answer was lost did happen: nothing to write.
                _log.info("job is not held any more")
                return
            except DatabaseAway:
                if self._clock.monotonic() > until or run.interrupt.reason is Reason.LEASE_LOST:
                    raise
                # Not a wait for the interrupt: one that was tripped would not pause at all.
                time.sleep(_AWAY_PAUSE_SECONDS)
            else:
                return
