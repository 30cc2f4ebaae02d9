"""Workers die at every failpoint and at random, web at its own, while clients ask and ask."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

from scripts.drills.approver import Approver
from scripts.drills.checker import Checker
from scripts.drills.crew import Crew
from scripts.drills.load import Load, Mix
from scripts.drills.points import web_points, worker_points
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.figures import spread
from scripts.harness.progress import Progress

_ROUND = 20
_SETTLE_SECONDS = 120.0
_WEB_CHANCE = 0.008
_WORKERS = 3
# A kill hits everything that a worker runs: few at once, so that most jobs see one or two kills.
_TURNS = 3


def run(plan: Plan, progress: Progress) -> Result:
    """Kill `plan.kills` times and check every invariant."""
    rng = random.Random(plan.seed)  # noqa: S311 - a drill, no secret
    spec = ",".join(f"{point}={_WEB_CHANCE}" for point in web_points())
    options = Options(
        _WORKERS, _TURNS, forked=True, web={"HABAKKUK_FAILPOINT": spec}, keep=plan.keep
    )
    with World(options) as world:
        crew = Crew(world, rng)
        load = Load(world.api, rng, "k", Mix(12, 5, 7, rest=plan.rest, careful=True))
        crew.start()
        load.start()
        began = time.monotonic()
        with Approver(world.api) as approver:
            settled = _rounds(plan, progress, (world, crew, load))
            asks = load.stop()
            crew.stop()
            _settle(world, load)
        verdict = Checker(world, asks).verdict()
        points = _points(crew.kills.fired)
        figures: dict[str, Any] = {
            "kills": crew.kills.total,
            "at_random": crew.kills.aimed,
            "at_failpoints": dict(sorted(crew.kills.fired.items())),
            "failpoints_hit": len(crew.kills.fired),
            "failpoints_missed": [name for name, count in points.items() if not count],
            "unexpected_ends": crew.kills.unexpected,
            "worker_start_s": spread(crew.kills.starts),
            "tries_per_ask": round(sum(a.tries for a in asks) / max(1, len(asks)), 3),
            "accepted_s": spread([a.accepted for a in asks if a.accepted is not None]),
            "settle_s": spread(settled),
            "seconds": round(time.monotonic() - began, 1),
            "approvals_answered": approver.allowed,
            "checks": verdict.figures(),
        }
        ok = verdict.ok and not crew.kills.unexpected
        return Result("kills", ok, figures, _lines(figures, points))


def _rounds(plan: Plan, progress: Progress, parts: tuple[World, Crew, Load]) -> list[float]:
    """Kill in rounds; after each, everything that was asked must be answered."""
    world, crew, load = parts
    settled: list[float] = []
    while crew.kills.total < plan.kills:
        goal = min(plan.kills, crew.kills.total + _ROUND)
        crew.arm()
        load.go_on()
        while crew.kills.total < goal:
            progress.say(f"kills {crew.kills.total}/{plan.kills}, asks {len(load.asks)}")
            time.sleep(0.1)
        load.pause()
        crew.calm()
        began = time.monotonic()
        _settle(world, load)
        settled.append(time.monotonic() - began)
    return settled


def _settle(world: World, load: Load) -> None:
    """Wait until nobody waits for an answer and no job is left, or long enough to call it lost."""
    until = time.monotonic() + _SETTLE_SECONDS
    while (load.waiting() or world.records.open_jobs()) and time.monotonic() < until:
        time.sleep(0.1)


def _points(fired: Counter[str]) -> dict[str, int]:
    return {name: fired[name] for name in [*worker_points(), *web_points()]}


def _lines(figures: dict[str, Any], points: dict[str, int]) -> list[str]:
    table = [f"    {name:24} {count:4}" for name, count in sorted(points.items())]
    return [*table, f"    {'at random':24} {figures['at_random']:4}"]
