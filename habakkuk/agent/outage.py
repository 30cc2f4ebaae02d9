"""Write over an outage of PostgreSQL: what happened outside is recorded once it is back."""

from __future__ import annotations

import time
from collections.abc import Callable

from habakkuk.agent.run import TurnRun
from habakkuk.core.interrupt import Reason
from habakkuk.core.log import get_logger
from habakkuk.db.engine import DatabaseAway
from habakkuk.jobs.leases import TRUST_SECONDS

_log = get_logger("agent.calls")
_PAUSE_SECONDS = 0.5


def outlast(run: TurnRun, write: Callable[[], None]) -> None:
    """Repeat `write` while PostgreSQL is away and the turn can still be ours.

    It must be harmless when repeated. Raises DatabaseAway after that, and what `write` raises.
    """
    clock, interrupt = run.ports.clock, run.context.interrupt
    until = clock.monotonic() + TRUST_SECONDS
    while True:
        try:
            return write()
        except DatabaseAway as error:
            if clock.monotonic() > until or interrupt.reason is Reason.LEASE_LOST:
                raise
            _log.warning("a call's record waits for the database", detail=error.detail)
            # Not a wait for the interrupt: one that was tripped would not pause at all.
            time.sleep(_PAUSE_SECONDS)
