"""Run the jobs that killed their workers, one at a time, in a process that may die of them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

from habakkuk.core.clock import Clock
from habakkuk.core.log import get_logger
from habakkuk.jobs.heartbeat import Heartbeat
from habakkuk.jobs.host import JobSource
from habakkuk.jobs.leases import Leases, lease_seconds
from habakkuk.jobs.presence import Ears, Presence, host_number, random_lock
from habakkuk.jobs.runner import Runner, RunnerParts
from habakkuk.jobs.store import queue as store
from habakkuk.jobs.store.line import Line
from habakkuk.jobs.store.queue import Owner

_log = get_logger("jobs.probe")
_START_SECONDS = 10.0


class Probe:
    """The one probe of a host. A kill here sets the job aside; a graceful end gives it back."""

    def __init__(self, source: JobSource, queues: Sequence[str]) -> None:
        """Put the parts together for the jobs of these queues."""
        self._source = source
        self._queues = queues
        self._clock = Clock()
        self._refused = threading.Event()
        self._stopping = threading.Event()
        number = random_lock()
        leases = Leases(self._clock, lease_seconds(source.settings))
        self._owner = Owner(f"probe@{socket.gethostname()}", number, leases.seconds)
        parts = RunnerParts(
            source.database,
            source.handlers,
            self._owner,
            leases,
            source.failpoints,
            self._clock,
            redactor=source.redactor,
        )
        self._runner = Runner(parts, {})
        self._heartbeat = Heartbeat(source.database.beside("habakkuk probe"), leases, self._clock)
        ears = Ears(_nothing, _nothing, leases.cancel, lambda _queue, _job: None, leases.distrust)
        self._presence = Presence(source.database, number, ears, self._alone)

    def run(self) -> int:
        """Run what waits for a probe and return how many jobs that were; 0 when one runs here."""
        ran = 0
        self._presence.start()
        try:
            if self._begun():
                self._source.warm()
                self._heartbeat.start()
                while not self._stopping.is_set() and self._run_one():
                    ran += 1
        finally:
            self._heartbeat.stop()
            self._presence.stop()
        return ran

    def stop(self) -> None:
        """Give the job that runs back and end."""
        self._stopping.set()
        self._runner.stop()

    def _run_one(self) -> bool:
        since = self._clock.monotonic()
        job = store.claim_poison(self._source.database, self._queues, self._owner)
        if job is None:
            return False
        _log.warning("running a job that killed its workers", job=job.id, crashes=job.crashes)
        self._runner.run(job, since)
        return True

    def _begun(self) -> bool:
        end = self._clock.monotonic() + _START_SECONDS
        while not self._presence.wait_held(0.1):
            if self._refused.is_set() or self._clock.monotonic() > end:
                return False
        return True

    def _alone(self, line: Line) -> bool:
        alone = line.hold_probe(host_number())
        if not alone:
            self._refused.set()
        return alone


def _nothing() -> None:
    """Do nothing: the probe claims by itself."""
