"""Everything that a process needs to run jobs, put together: start it, offer to it, stop it."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from habakkuk.core.clock import Clock
from habakkuk.core.config.settings import Settings
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.ids import random_id
from habakkuk.core.log import get_logger
from habakkuk.core.redaction import Redactor
from habakkuk.core.redis import RedisGate
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs.contract import JobHandler
from habakkuk.jobs.heartbeat import Heartbeat
from habakkuk.jobs.leases import Leases, lease_seconds
from habakkuk.jobs.lock import LockKeeper
from habakkuk.jobs.loop import Loop
from habakkuk.jobs.presence import Ears, Presence, random_lock
from habakkuk.jobs.runner import Runner, RunnerParts
from habakkuk.jobs.slots import Ticket
from habakkuk.jobs.store import workers
from habakkuk.jobs.store.queue import Owner
from habakkuk.jobs.store.workers import WorkerRow
from habakkuk.jobs.sweeper import Sweeper, SweeperParts
from habakkuk.jobs.wake import Wake
from habakkuk.jobs.wake_list import ListReader

_log = get_logger("jobs.host")
_CENSUS_SECONDS = 60.0
# A process that is frozen inside its sweep keeps all others from theirs for so long.
_SWEEP_IDLE_SECONDS = 2.0


class JobSource(Protocol):
    """What a process that runs jobs needs of its container."""

    @property
    def settings(self) -> Settings:
        """The configuration of the process."""
        ...

    @property
    def database(self) -> Database:
        """Its pool."""
        ...

    @property
    def redis(self) -> RedisGate | None:
        """Its commands to Redis; None shows no locks."""
        ...

    @property
    def redactor(self) -> Redactor:
        """What takes its secrets out of what is stored."""
        ...

    @property
    def failpoints(self) -> Failpoints:
        """Its armed points."""
        ...

    @property
    def rewake(self) -> Wake:
        """Its way to bring a job that was taken over to another worker."""
        ...

    @property
    def handlers(self) -> Mapping[str, JobHandler]:
        """The handler of every job kind that it can run."""
        ...

    def warm(self) -> None:
        """Import what is slow, before the first job and after the first look for dead owners."""
        ...

    def maintain(self) -> None:
        """Enqueue what is due of the fixed cadences; more often changes nothing."""
        ...

    def close(self) -> None:
        """Let go of everything, at the end."""
        ...


@dataclass(frozen=True)
class Identity:
    """How a process is called; `version` is that of the code."""

    name: str
    role: str
    version: str


class Host:
    """One process that runs jobs. Nothing here waits for PostgreSQL or Redis to be there."""

    def __init__(
        self,
        source: JobSource,
        identity: Identity,
        sizes: Mapping[str, int],
        start_probe: Callable[[], None] = lambda: None,
    ) -> None:
        """Put the parts together; `sizes` are the slots of each queue that is served."""
        self._source = source
        self._identity = identity
        self._number = random_lock()
        self._id = random_id("w")
        self._warmed = False
        clock = Clock()
        redis = source.redis
        self._locks = None if redis is None else LockKeeper(redis, self._number)
        self._beats = source.database.beside("habakkuk heartbeat")
        self._sweeps = source.database.beside("habakkuk sweep", idle_seconds=_SWEEP_IDLE_SECONDS)
        self._leases = Leases(clock, lease_seconds(source.settings))
        self.runner = Runner(self._runner_parts(clock), sizes)
        self._heartbeat = Heartbeat(self._beats, self._leases, clock, self._locks)
        self._sweeper = Sweeper(self._sweeper_parts(start_probe))
        ears = Ears(self._held, self._lost, self._leases.cancel, self.offer, self._leases.distrust)
        self._presence = Presence(source.database, self._number, ears)
        free = self.runner.free
        self._wakes = None if redis is None else ListReader(redis, free, self.runner.offer)
        self._opening = Loop("opening", self._begin)
        self._census = Loop("census", self._register)

    def _runner_parts(self, clock: Clock) -> RunnerParts:
        source = self._source
        return RunnerParts(
            database=source.database,
            handlers=source.handlers,
            owner=Owner(self._identity.name, self._number, self._leases.seconds),
            leases=self._leases,
            failpoints=source.failpoints,
            clock=clock,
            locks=self._locks,
            redactor=source.redactor,
        )

    def _sweeper_parts(self, start_probe: Callable[[], None]) -> SweeperParts:
        source = self._source
        return SweeperParts(
            database=self._sweeps,
            runner=self.runner,
            handlers=source.handlers,
            wake=source.rewake,
            failpoints=source.failpoints,
            locks=self._locks,
            start_probe=start_probe,
        )

    @property
    def opened(self) -> bool:
        """Whether jobs have been taken since the start."""
        return self._warmed

    def start(self) -> None:
        """Start every thread and return; jobs are taken once the presence lock is held."""
        if self._locks is not None:
            self._locks.start()
        self._presence.start()
        self._heartbeat.start()
        self._opening.start()

    def offer(self, queue: str, job_id: str) -> Ticket | None:
        """Take a job to run; None when there is no room, or not yet or no longer."""
        return self.runner.offer(queue, job_id)

    def sweep(self) -> None:
        """Look for what nobody woke, now."""
        self._sweeper.kick()

    def stop(self, seconds: float) -> bool:
        """Give every job back and end the threads; False when a job did not let go in time."""
        self._opening.stop()
        self.runner.stop()
        if self._wakes is not None:
            self._wakes.tell()
        idle = self.runner.wait_idle(seconds)
        if self._wakes is not None:
            self._wakes.stop()
        if not idle:
            _log.error("jobs did not stop in time", jobs=self.runner.active)
        for loop in (self._sweeper, self._census, self._heartbeat):
            loop.stop()
        if self._locks is not None:
            self._locks.stop()
        self._unregister()
        # Last: from here on whoever looks takes this process for dead.
        self._presence.stop()
        for pool in (self._beats, self._sweeps):
            pool.dispose()
        return idle

    def _begin(self) -> float:
        """Look for the dead first, then get warm, then take jobs."""
        if not self._presence.wait_held(1.0):
            return 0.0
        self._sweeper.mend()
        self._source.warm()
        # What was imported stays for good: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        # A turn makes some thousand objects, nearly none of them in a circle.
        gc.set_threshold(50_000, 50, 100)
        self._warmed = True
        if self._presence.held:
            self.runner.open()
        if self._wakes is not None:
            self._wakes.start()
        self._sweeper.start()
        self._census.start()
        self._opening.stop()
        return 0.0

    def _held(self) -> None:
        if self._warmed:
            self.runner.open()

    def _lost(self) -> None:
        """Claim nothing: without the lock a job would be taken for a dead process's at once."""
        self.runner.shut()

    def _register(self) -> float:
        if not workers.seen(self._sweeps, self._id):
            workers.register(self._sweeps, self._row())
        return _CENSUS_SECONDS

    def _unregister(self) -> None:
        try:
            workers.remove(self._sweeps, self._id)
        except DatabaseAway as error:
            _log.info("the worker's row stays: the database is away", detail=error.detail)

    def _row(self) -> WorkerRow:
        return WorkerRow(
            id=self._id,
            role=self._identity.role,
            host=socket.gethostname(),
            pid=os.getpid(),
            owner_lock=self._number,
            queues=self.runner.queues,
            config_hash=self._source.settings.config_hash,
            version=self._identity.version,
        )
