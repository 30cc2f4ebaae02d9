"""The mutants of the worker and of web, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from habakkuk.db.engine import Work
from habakkuk.jobs import sweeper
from habakkuk.jobs.store import lease as leases
from habakkuk.jobs.store import sweep, waits
from habakkuk.jobs.store.fragments import statement
from habakkuk.jobs.store.lease import Cancellation, Lease
from scripts.drills.mutants import hasty

_RARELY_SECONDS = 60.0


def _no_guard() -> None:
    """Write whatever the claim says by now."""

    def guard(work: Work, lease: Lease) -> bool:
        del work, lease
        return True

    def guard_change(work: Work, lease: Lease) -> Cancellation:
        del work, lease
        return Cancellation(requested=False, reason=None)

    leases.guard = guard
    leases.guard_change = guard_change


def _unlocked_resolve() -> None:
    """Resolve a wait without locking its job first."""
    waits._LOCK_JOB = statement("SELECT CAST(:id AS text)")


def _session_sweep() -> None:
    """Sweep under a lock that lasts as long as the connection."""
    sweep._ALONE = statement("SELECT pg_try_advisory_lock(7778, 2) AS mine")


def _rare_sweep() -> None:
    """Hardly ever sweep: what nobody woke then shows."""
    sweeper.SWEEP_SECONDS = _RARELY_SECONDS


def _plain() -> None:
    """Change nothing: the run beside the mutant."""


MUTANTS: Mapping[str, Callable[[], None]] = {
    "none": _plain,
    "no-guard": _no_guard,
    "hasty-answer": hasty.answer_before_commit,
    "early-wake": hasty.wake_before_commit,
    "unlocked-resolve": _unlocked_resolve,
    "session-sweep": _session_sweep,
    "rare-sweep": _rare_sweep,
}


def apply(name: str) -> None:
    """Take that guard out of this process."""
    MUTANTS[name]()
