"""What breaks beside the workers, one kind after the other while work goes on."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from habakkuk.core.redis import blocking_client
from scripts.drills.crew import Crew
from scripts.drills.world import World

_AWAY_SECONDS = 2.0
_CUTTING_SECONDS = 4.0
# A frozen process wakes up when its leases have long ended.
_BEYOND_LEASE_SECONDS = 2.0


@dataclass(frozen=True)
class Stage:
    """Who may break something, and how long a lease lasts there."""

    world: World
    crew: Crew


def _flush_redis(stage: Stage) -> None:
    client = blocking_client(stage.world.valkey.url())
    client.flushall()
    client.close()


def _freeze_redis(stage: Stage) -> None:
    stage.world.valkey.freeze()
    time.sleep(_AWAY_SECONDS)
    stage.world.valkey.thaw()


def _kill_redis(stage: Stage) -> None:
    stage.world.valkey.kill()
    time.sleep(_AWAY_SECONDS)
    stage.world.valkey.start()


def _restart_redis(stage: Stage) -> None:
    stage.world.valkey.stop()
    stage.world.valkey.start()


def _freeze_worker(stage: Stage) -> None:
    stage.crew.freeze(stage.world.options.lease + _BEYOND_LEASE_SECONDS)


def _crash_postgres(stage: Stage) -> None:
    stage.world.postgres.kill()
    time.sleep(_AWAY_SECONDS)
    stage.world.postgres.start()
    stage.crew.database_started()


def _cut_connections(stage: Stage) -> None:
    cutter = stage.world.beside["cutter"]
    cutter.signal(signal.SIGUSR1)
    time.sleep(_CUTTING_SECONDS)
    cutter.signal(signal.SIGUSR2)


Fault = Callable[[Stage], None]
FAULTS: Mapping[str, Fault] = {
    "worker frozen": _freeze_worker,
    "connections cut in commits": _cut_connections,
    "redis flushed": _flush_redis,
    "redis frozen": _freeze_redis,
    "redis killed": _kill_redis,
    "redis restarted": _restart_redis,
    "postgres crashed": _crash_postgres,
    "web killed": lambda stage: stage.crew.kill_web(),
    "beat killed": lambda stage: stage.crew.kill_beat(),
}


def faults(rng: random.Random) -> Iterator[tuple[str, Fault]]:
    """Yield one fault after the other for ever, every kind as often as any."""
    while True:
        found = list(FAULTS.items())
        rng.shuffle(found)
        yield from found
