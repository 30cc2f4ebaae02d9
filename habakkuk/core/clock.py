"""The clock of one process, replaceable in tests. Leases use the database's clock, never this."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """Real time."""

    def now(self) -> datetime:
        """Return the current time in UTC, with its zone."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that go on while the machine sleeps (time.monotonic stands still then)."""
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.monotonic()
