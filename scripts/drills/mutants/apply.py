"""The mutants of the worker and of web, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from habakkuk.db.engine import Work
from habakkuk.jobs.store import lease as leases
from habakkuk.jobs.store.lease import Cancellation, Lease
from scripts.drills.mutants import hasty


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


def _plain() -> None:
    """Change nothing: the run beside the mutant."""


MUTANTS: Mapping[str, Callable[[], None]] = {
    "none": _plain,
    "no-guard": _no_guard,
    "hasty-answer": hasty.answer_before_commit,
}


def apply(name: str) -> None:
    """Take that guard out of this process."""
    MUTANTS[name]()
