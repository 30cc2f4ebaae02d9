"""The main recipe: everything dies, freezes and breaks in cycles, while clients ask and ask.

In every cycle workers are killed at failpoints and at random, and one thing more breaks: web, beat,
Redis, PostgreSQL, connections around their commits, or a worker that is frozen beyond its lease.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scripts.drills.approver import Approver
from scripts.drills.checker import Checker, Verdict
from scripts.drills.crew import Crew
from scripts.drills.faults import Stage, faults
from scripts.drills.load import Load, Mix
from scripts.drills.outgoing import Outgoing
from scripts.drills.phones import Phones
from scripts.drills.points import web_points, worker_points
from scripts.drills.recoveries import Recoveries
from scripts.drills.report import Plan, Result
from scripts.drills.world import NotReady, Options, World
from scripts.harness.figures import spread
from scripts.harness.progress import Progress

# Seconds. Bars of the recovery from a kill to the next model request, and how late a frozen
# worker's turn may go on after its lease.
MEDIAN, SLOW, LONGEST = 0.5, 2.0, 5.0
_LEASE, _AFTER_LEASE = 3.0, 5.0
_KILLS = 20
_SETTLE_EVERY = 4
_SETTLE_SECONDS = 180.0
_CYCLE_SECONDS = 180.0
_WEB_CHANCE = 0.004
_WORKERS = 3
# A kill hits everything that a worker runs: few at once, so that most jobs see one or two kills.
_TURNS = 3


@dataclass(frozen=True)
class _Scene:
    """What the cycles work with."""

    world: World
    crew: Crew
    load: Load
    broken: Counter[str]
    settled: list[float]


def run(plan: Plan, progress: Progress) -> Result:
    """Run `plan.cycles` cycles and check every invariant."""
    rng = random.Random(plan.seed)  # noqa: S311 - a drill, no secret
    with World(_options(plan)) as world:
        crew = Crew(world, rng)
        crew.database_started()
        phones = Phones(world.api, world.platform_api, world.platforms.secret)
        load = Load(world.api, rng, "k", _mix(plan), phones)
        scene = _Scene(world, crew, load, Counter(), [])
        crew.start()
        load.start()
        began = time.monotonic()
        try:
            with Approver(world.api) as approver:
                _cycles(plan, progress, scene, rng)
                asks = load.stop()
                crew.stop()
                _settle(scene)
        finally:
            crew.stop()
        verdict = Checker(world, asks).verdict()
        figures = _bars(plan, scene, verdict)
        ok = figures.pop("ok")
        figures["detail"] = {
            **_detail(scene, verdict),
            "tries_per_ask": round(sum(a.tries for a in asks) / max(1, len(asks)), 3),
            "accepted_s": spread([a.accepted for a in asks if a.accepted is not None]),
            "approvals_answered": approver.allowed,
            "seconds": round(time.monotonic() - began, 1),
        }
        return Result("kills", ok, figures, _lines(scene))


def _options(plan: Plan) -> Options:
    spec = ",".join(f"{point}={_WEB_CHANCE}" for point in web_points())
    return Options(
        _WORKERS,
        _TURNS,
        forked=True,
        web={"HABAKKUK_FAILPOINT": spec},
        keep=plan.keep,
        outside=True,
        cutter=True,
        lease=_LEASE,
    )


def _mix(plan: Plan) -> Mix:
    return Mix(4, 2, 2, rest=plan.rest, careful=True)


def _cycles(plan: Plan, progress: Progress, scene: _Scene, rng: random.Random) -> None:
    kinds = faults(rng)
    for number in range(1, plan.cycles + 1):
        name, fault = next(kinds)
        stage = Stage(scene.world, scene.crew)
        scene.broken[name] += 1
        what = f"cycle {number}/{plan.cycles} ({name})"
        goal = scene.crew.kills.total + (plan.kills or _KILLS)
        progress.say(what, hurry=True)
        scene.crew.arm()
        scene.load.go_on()
        # In this thread: a server that a thread started would end with it.
        fault(stage)
        _await_kills(goal, progress, scene, what)
        if number % _SETTLE_EVERY == 0 or number == plan.cycles:
            scene.load.pause()
            scene.crew.calm()
            began = time.monotonic()
            _settle(scene)
            scene.settled.append(time.monotonic() - began)


def _await_kills(goal: int, progress: Progress, scene: _Scene, what: str) -> None:
    kills, load = scene.crew.kills, scene.load
    until = time.monotonic() + _CYCLE_SECONDS
    while kills.total < goal:
        progress.say(f"{what}, kills {kills.total}, asks {len(load.asks)}")
        if time.monotonic() > until:
            raise NotReady(f"{what}: only {kills.total} of {goal} kills; nothing moves any more")
        time.sleep(0.1)


def _settle(scene: _Scene) -> None:
    """Wait until nobody waits for an answer and no job is left, or long enough to call it lost."""
    until = time.monotonic() + _SETTLE_SECONDS
    while scene.load.waiting() or scene.world.records.open_jobs():
        if time.monotonic() > until:
            return
        time.sleep(0.1)


def _bars(plan: Plan, scene: _Scene, verdict: Verdict) -> dict[str, Any]:
    """Return the figures that have a bar, and whether all hold."""
    kills = scene.crew.kills
    recoveries = Recoveries(scene.world, kills.blows)
    usual = spread(recoveries.seconds(frozen=False, rested=True))
    crashed = spread(recoveries.seconds(frozen=False, rested=False))
    frozen = spread(recoveries.seconds(frozen=True, rested=True))
    quick = usual.get("p50", 0) <= MEDIAN and usual.get("p95", 0) <= SLOW
    late = max(frozen.get("max", 0), crashed.get("max", 0)) <= _LEASE + _AFTER_LEASE
    return {
        "cycles": plan.cycles,
        "kills": kills.total,
        "messages": verdict.asks,
        "lost": verdict.lost + verdict.unanswered,
        "duplicated": verdict.doubled,
        "uncertain": verdict.uncertain,
        "interrupted_tools": verdict.interrupted,
        "double_side_effects": verdict.effects_twice,
        "invalid_transcripts": verdict.invalid,
        "recovery_s": usual,
        "recovery_frozen_s": frozen,
        "recovery_after_database_crash_s": crashed,
        "recovery_by_probe_s": spread(recoveries.seconds(frozen=False, rested=True, probed=True)),
        "ok": verdict.ok
        and not kills.unexpected
        and (not plan.timed or (quick and late and usual.get("max", 0) <= LONGEST)),
    }


def _detail(scene: _Scene, verdict: Verdict) -> dict[str, Any]:
    kills = scene.crew.kills
    missed = [name for name, count in _points(kills.fired).items() if not count]
    return {
        "at_random": kills.aimed,
        "of_web": kills.web,
        "of_beat": kills.beat,
        "at_failpoints": dict(sorted(kills.fired.items())),
        "failpoints_hit": len(kills.fired),
        "failpoints_missed": missed,
        "frozen": sum(blow.frozen for blow in kills.blows),
        "broken": dict(scene.broken),
        "cuts": dict(Counter(scene.world.cuts.read_text().splitlines())),
        "platforms": Outgoing(scene.world).figures(),
        "unexpected_ends": kills.unexpected,
        "slowest_recoveries": Recoveries(scene.world, kills.blows).slowest(),
        "worker_start_s": spread(kills.starts),
        "settle_s": spread(scene.settled),
        "checks": verdict.figures(),
    }


def _points(fired: Mapping[str, int]) -> dict[str, int]:
    return {name: fired.get(name, 0) for name in [*worker_points(), *web_points()]}


def _lines(scene: _Scene) -> list[str]:
    kills = scene.crew.kills
    table = sorted(_points(kills.fired).items())
    counts = [*table, ("at random", kills.aimed), ("web", kills.web), ("beat", kills.beat)]
    return [f"    {name:24} {count:4}" for name, count in counts]
