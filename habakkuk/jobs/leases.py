"""The jobs that this process holds, and how long it may trust each lease."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from habakkuk.core.clock import Clock
from habakkuk.core.config.settings import Settings
from habakkuk.core.interrupt import Interrupt, Reason
from habakkuk.jobs.store.fragments import LEASE_SECONDS
from habakkuk.jobs.store.lease import Beat, Lease

# Trust ends before the lease does: what was started in trust must not run into another's time.
_TRUSTED_SHARE = 5 / 6
TRUST_SECONDS = LEASE_SECONDS * _TRUSTED_SHARE
_TEST_LEASE = "HABAKKUK_TEST_LEASE"


def lease_seconds(settings: Settings) -> float:
    """Return how long a lease lasts; the test-only setting lets drills outlive many."""
    return float(settings.environment.get(_TEST_LEASE) or LEASE_SECONDS)


@dataclass
class Holding:
    """One held job. `trusted_until` is in the clock's monotonic seconds."""

    lease: Lease
    serial_key: str | None
    interrupt: Interrupt
    trusted_until: float


class Leases:
    """Every holding of a process, by fence. Thread-safe."""

    def __init__(self, clock: Clock, seconds: float = LEASE_SECONDS) -> None:
        """Start with none; each lasts `seconds` from its claim or its last beat."""
        self.seconds = seconds
        self._trust = seconds * _TRUSTED_SHARE
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[int, Holding] = {}

    def __len__(self) -> int:
        """Return how many jobs are held."""
        return len(self._held)

    def add(self, lease: Lease, serial_key: str | None, interrupt: Interrupt, since: float) -> None:
        """Hold a job whose claim was asked for at `since`."""
        holding = Holding(lease, serial_key, interrupt, since + self._trust)
        with self._lock:
            self._held[lease.fence] = holding

    def drop(self, fence: int) -> Holding | None:
        """Hold the job no longer; None when it was dropped before."""
        with self._lock:
            return self._held.pop(fence, None)

    def all(self) -> list[Holding]:
        """Return what is held now."""
        with self._lock:
            return list(self._held.values())

    def renewed(self, asked: Iterable[Holding], beats: Iterable[Beat], since: float) -> list[int]:
        """Take the answer to a heartbeat that began at `since`; return the fences that are lost."""
        answer = {beat.fence: beat for beat in beats}
        lost = []
        for holding in asked:
            beat = answer.get(holding.lease.fence)
            if beat is None:
                if self.drop(holding.lease.fence) is not None:
                    lost.append(holding.lease.fence)
                    holding.interrupt.trip(Reason.LEASE_LOST)
                continue
            if beat.renewed:
                holding.trusted_until = since + self._trust
            if beat.cancel_requested:
                holding.interrupt.trip(Reason.CANCELLED)
        return lost

    def distrust(self) -> list[int]:
        """Stop what was not renewed in time, without asking anybody; return the fences."""
        now = self._clock.monotonic()
        late = [holding for holding in self.all() if holding.trusted_until < now]
        for holding in late:
            self.drop(holding.lease.fence)
            holding.interrupt.trip(Reason.LEASE_LOST)
        return [holding.lease.fence for holding in late]

    def cancel(self, job_id: str) -> bool:
        """Interrupt a job that somebody cancelled; False when it is not held here."""
        found = [holding for holding in self.all() if holding.lease.id == job_id]
        for holding in found:
            holding.interrupt.trip(Reason.CANCELLED)
        return bool(found)

    def stop(self) -> None:
        """Interrupt everything: the process ends."""
        for holding in self.all():
            holding.interrupt.trip(Reason.STOPPING)
