"""Renew the leases of this process, from one thread with a connection of its own."""

from __future__ import annotations

from habakkuk.core.clock import Clock
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database
from habakkuk.jobs.leases import Leases
from habakkuk.jobs.lock import LockKeeper
from habakkuk.jobs.loop import Loop
from habakkuk.jobs.store import lease as store

_log = get_logger("jobs.heartbeat")
# Every five seconds for a lease of thirty: a few beats may fail.
_BEATS_PER_LEASE = 6


class Heartbeat:
    """Beats six times a lease, for all held jobs in one statement."""

    def __init__(
        self, database: Database, leases: Leases, clock: Clock, locks: LockKeeper | None = None
    ) -> None:
        """Take a pool that nothing else uses, so that no busy pool delays a beat."""
        self._database = database
        self._leases = leases
        self._clock = clock
        self._locks = locks
        self._loop = Loop("heartbeat", self._tick)

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop(self) -> None:
        """End the thread."""
        self._loop.stop()

    def beat(self) -> None:
        """Renew once. What is not ours any more gets LEASE_LOST, what was cancelled CANCELLED."""
        held = self._leases.all()
        if not held:
            return
        since = self._clock.monotonic()
        leases = [holding.lease for holding in held]
        beats = store.heartbeat(self._database, leases, self._leases.seconds)
        lost = self._leases.renewed(held, beats, since)
        if lost:
            _log.warning("leases lost", fences=lost)
        if self._locks is not None:
            still = [h for h in held if h.serial_key is not None and h.lease.fence not in lost]
            self._locks.renew([(h.serial_key or "", h.lease.fence) for h in still])

    def _tick(self) -> float:
        try:
            self.beat()
        finally:
            late = self._leases.distrust()
            if late:
                _log.error("leases were not renewed in time", fences=late)
        return self._leases.seconds / _BEATS_PER_LEASE
