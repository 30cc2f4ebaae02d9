"""Run the jobs that killed their workers, one at a time, in a process that may die of them.

A job that moves on is given back to the workers at once: the next one waits for its first step
only. The probe stays for a while when nothing is left: where two kills in a row hit a job, the next
is likely soon, and the start of a process takes longer than most steps.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

from habakkuk.core.clock import Clock
from habakkuk.core.log import get_logger
from habakkuk.db.engine import DatabaseAway
from habakkuk.jobs.heartbeat import Heartbeat
from habakkuk.jobs.host import JobSource
from habakkuk.jobs.leases import Leases, lease_seconds
from habakkuk.jobs.presence import Ears, Presence, host_number, random_lock
from habakkuk.jobs.runner import Runner, RunnerParts
from habakkuk.jobs.store import queue as store
from habakkuk.jobs.store.line import Line
from habakkuk.jobs.store.queue import Owner
from habakkuk.jobs.store.signals import notify_wakes

_log = get_logger("jobs.probe")
_START_SECONDS = 10.0
_LOOK_SECONDS = 0.2
_LINGER_SECONDS = 30.0


class Probe:
    """The one probe of a host. A kill here sets the job aside; a graceful end gives it back."""

    def __init__(
        self, source: JobSource, queues: Sequence[str], linger: float = _LINGER_SECONDS
    ) -> None:
        """Put the parts together for the jobs of these queues; end after `linger` idle seconds."""
        self._source = source
        self._queues = queues
        self._linger = linger
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
            hand_back=True,
        )
        self._runner = Runner(parts, {})
        self._heartbeat = Heartbeat(source.database.beside("habakkuk probe"), leases, self._clock)
        ears = Ears(_nothing, _nothing, leases.cancel, lambda _queue, _job: None, leases.distrust)
        self._presence = Presence(source.database, number, ears, self._alone)

    def run(self) -> int:
        """Run what waits for a probe and return how many jobs that were.

        0 when another one runs here. Ends when the database is away: what it held is then taken
        over, and a worker starts the next probe.
        """
        ran = 0
        self._presence.start()
        try:
            if self._begun():
                self._source.warm()
                self._heartbeat.start()
                ran = self._run_all()
        except DatabaseAway as error:
            _log.warning("the probe ends: the database is away", detail=error.detail)
        finally:
            self._heartbeat.stop()
            self._presence.stop()
        return ran

    def stop(self) -> None:
        """Give the job that runs back and end."""
        self._stopping.set()
        self._runner.stop()

    def _run_all(self) -> int:
        ran = 0
        idle_since = self._clock.monotonic()
        while not self._stopping.is_set():
            if self._presence.held and self._run_one():
                ran += 1
                idle_since = self._clock.monotonic()
            elif self._clock.monotonic() - idle_since >= self._linger:
                break
            else:
                self._stopping.wait(_LOOK_SECONDS)
        return ran

    def _run_one(self) -> bool:
        since = self._clock.monotonic()
        job = store.claim_poison(self._source.database, self._queues, self._owner)
        if job is None:
            return False
        _log.warning("running a job that killed its workers", job=job.id, crashes=job.crashes)
        if not self._runner.run(job, since).over:
            notify_wakes(self._source.database, [(job.queue, job.id)])
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
