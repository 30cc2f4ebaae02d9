"""Hours of ordinary use with a fault now and then: what must stay flat stays flat.

`--seconds 7200` is the run of two hours. A worker is killed, web's inner process too, and Redis is
restarted, by turns; what nobody kills is watched: memory, open files, connections, dead rows.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scripts.benches.fill import Rows, fill
from scripts.benches.processes import everything, family, pss_mb
from scripts.drills.checker import Checker
from scripts.drills.crew import Crew
from scripts.drills.load import Load, Mix
from scripts.drills.phones import Phones
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.figures import spread
from scripts.harness.progress import Progress

# Some five messages a second, all clients together.
_MIX = Mix(chat=4, whole=1, stream=1, rest=1.5)
_ROWS = Rows(100_000, 1_000_000)
_FAULT_SECONDS = 20.0
_AROUND_FAULT = 6.0
# What grows by this much or less stands still: allocators and pools fill up in the first minutes.
_MEMORY_BAR, _FILES_BAR, _LINES_BAR = 1.15, 10, 10
# Autovacuum begins at a fifth of a table's rows and fifty more.
_DEAD_SHARE, _DEAD_ROWS = 0.25, 1_000
_WARM_SHARE = 0.2
_PICK_UP_BAR = 0.02
_DEAD = "SELECT relname, n_live_tup, n_dead_tup FROM pg_stat_user_tables"
_LINES = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
_PICKED_UP = """
    SELECT extract(epoch FROM created)::float8 AS at,
           extract(epoch FROM began - created)::float8 AS seconds
    FROM turns WHERE created > to_timestamp(%s) AND began IS NOT NULL
"""


@dataclass(frozen=True)
class _Look:
    """What is held: MB and open files of the processes that nobody kills; connections."""

    memory_mb: float
    files: int
    connections: int


@dataclass(frozen=True)
class _Flat:
    """What was held early and at the end, when something was broken, and how turns began."""

    early: _Look
    late: _Look
    faults: Sequence[float]
    dead_rows: Mapping[str, int]
    picked_up: Sequence[float]

    @property
    def ok(self) -> bool:
        """Whether all of it stands still."""
        return (
            self.late.memory_mb <= self.early.memory_mb * _MEMORY_BAR
            and self.late.files <= self.early.files + _FILES_BAR
            and self.late.connections <= self.early.connections + _LINES_BAR
            and not self.dead_rows
        )

    @property
    def slow_pick_up(self) -> float:
        """The 99th percentile of the seconds from a turn's acceptance to its begin."""
        return self.picked_up[int(len(self.picked_up) * 0.99)] if self.picked_up else 0.0


def run(plan: Plan, progress: Progress) -> Result:
    """Let clients talk for `plan.seconds` and compare the end with the beginning."""
    rng = random.Random(plan.seed)  # noqa: S311 - a drill, no secret
    with World(Options(workers=2, turns=32, outside=True, keep=plan.keep)) as world:
        progress.say("a million finished turns", hurry=True)
        fill(world.records, _ROWS)
        phones = Phones(world.api, world.platform_api, world.platforms.secret)
        crew = Crew(world, rng)
        load = Load(world.api, rng, "s", _MIX, phones)
        crew.start()
        load.start()
        began = time.time()
        try:
            faults, looks = _hours(world, crew, plan.seconds, progress)
            asks = load.stop()
        finally:
            crew.stop()
        _settle(world)
        verdict = Checker(world, asks).verdict()
        flat = _Flat(*looks, faults, _dead_rows(world), _picked_up(world, began, faults))
    figures = {
        "seconds": plan.seconds,
        "messages": len(asks),
        "faults": len(flat.faults),
        "early": asdict(flat.early),
        "late": asdict(flat.late),
        "tables_with_many_dead_rows": flat.dead_rows,
        "picked_up_s": spread(flat.picked_up) | {"p99": round(flat.slow_pick_up, 4)},
        "unexpected_ends": crew.kills.unexpected,
        "checks": verdict.figures(),
    }
    quick = not plan.timed or flat.slow_pick_up <= _PICK_UP_BAR
    ok = verdict.ok and flat.ok and quick and not crew.kills.unexpected
    return Result("soak", ok, figures)


def _picked_up(world: World, began: float, faults: Sequence[float]) -> list[float]:
    """Return the seconds that turns waited for a worker while nothing was broken, sorted."""
    return sorted(
        row["seconds"]
        for row in world.records.rows(_PICKED_UP, began)
        if not any(0 <= row["at"] - at < _AROUND_FAULT for at in faults)
    )


def _hours(
    world: World, crew: Crew, seconds: float, progress: Progress
) -> tuple[Sequence[float], tuple[_Look, _Look]]:
    """Break something now and then; return when, and what was held early and at the end."""
    kinds: list[Callable[[], None]] = [
        lambda: crew.kill("worker-1"),
        lambda: _kill_inner_web(world),
        lambda: _restart_redis(world),
    ]
    faults: list[float] = []
    early: _Look | None = None
    began = time.monotonic()
    while (lasted := time.monotonic() - began) < seconds:
        progress.say(f"{lasted:.0f} of {seconds:.0f} s, {len(faults)} faults")
        if early is None and lasted > seconds * _WARM_SHARE:
            early = _look(world)
        if lasted > (len(faults) + 1) * _FAULT_SECONDS:
            faults.append(time.time())
            kinds[len(faults) % len(kinds)]()
        time.sleep(0.5)
    late = _look(world)
    return faults, (early or late, late)


def _kill_inner_web(world: World) -> None:
    if world.web is None:
        return
    for stat in family(world.web.pid, everything()):
        if stat.parent == world.web.pid:
            with suppress(ProcessLookupError):
                os.kill(stat.pid, signal.SIGKILL)


def _restart_redis(world: World) -> None:
    world.valkey.stop()
    world.valkey.start()


def _look(world: World) -> _Look:
    """Look at what nobody kills: the second worker and beat."""
    pids = [world.workers["worker-2"].pid, world.beside["beat"].pid]
    files = sum(len(list((Path("/proc") / str(pid) / "fd").iterdir())) for pid in pids)
    lines = int(world.records.rows(_LINES)[0]["n"])
    return _Look(pss_mb(pids) or 0.0, files, lines)


def _dead_rows(world: World) -> dict[str, Any]:
    """Return the tables in which more rows are dead than vacuuming leaves."""
    return {
        row["relname"]: row["n_dead_tup"]
        for row in world.records.rows(_DEAD)
        if row["n_dead_tup"] > _DEAD_ROWS + _DEAD_SHARE * row["n_live_tup"]
    }


def _settle(world: World) -> None:
    until = time.monotonic() + 120
    while world.records.open_jobs() and time.monotonic() < until:
        time.sleep(0.1)
