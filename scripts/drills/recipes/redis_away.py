"""Redis stopped, frozen and restarted under load: nothing is lost, nobody waits for it."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from habakkuk.core.redis import PREFIX, blocking_client
from habakkuk.jobs.broker import CANARY
from habakkuk.jobs.wake import Producer
from scripts.drills.checker import Checker
from scripts.drills.load import Load, Mix
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.figures import spread
from scripts.harness.http import Cut
from scripts.harness.progress import Progress

_ACCEPT_BAR, _CONSUME_BAR = 1.0, 10.0
_MIX = Mix(chat=8, whole=2, stream=2, rest=0.1)
_OK = 200
_LOOK_SECONDS = 0.25
_WARM_SECONDS = 3.0
_CYCLES = 6
_GIVE_UP_SECONDS = 60.0
_QUEUE_PREFIX = f"{PREFIX}q:"


def stop(plan: Plan, progress: Progress) -> Result:
    """Redis ended cleanly for a while."""
    return _away("redis-stop", plan, progress, lambda world: world.valkey.stop())


def freeze(plan: Plan, progress: Progress) -> Result:
    """Redis accepting connections and never answering for a while."""
    return _away("redis-freeze", plan, progress, lambda world: world.valkey.freeze())


def _away(name: str, plan: Plan, progress: Progress, leave: Callable[[World], None]) -> Result:
    with World(Options(keep=plan.keep)) as world:
        load = Load(world.api, random.Random(plan.seed), "r", _MIX)  # noqa: S311 - a drill
        load.start()
        time.sleep(_WARM_SECONDS)
        progress.say(f"Redis is away for {plan.seconds:.0f} s", hurry=True)
        before = len(load.asks)
        leave(world)
        health = _watch_health(world, plan.seconds)
        during = load.asks[before:]
        if name == "redis-stop":
            world.valkey.start()
        else:
            world.valkey.thaw()
        time.sleep(_WARM_SECONDS)
        asks = load.stop()
        recovered = world.api.get("/healthz").body
        verdict = Checker(world, asks).verdict()
    accepted = [ask.accepted for ask in during if ask.accepted is not None]
    degraded = {key: count for key, count in health.items() if key != "200 ['redis']"}
    figures = {
        "away_s": plan.seconds,
        "accepted_meanwhile_s": spread(accepted),
        "asks_meanwhile": len(during),
        "healthz": dict(health),
        "healthz_after": recovered,
        "checks": verdict.figures(),
    }
    # Web may need one look to notice.
    noticed = health["200 ['redis']"] > 0 and sum(degraded.values()) <= 1
    sound = not any(key.split()[0] != str(_OK) for key in health)
    ok = verdict.ok and bool(accepted) and max(accepted) < _ACCEPT_BAR and noticed and sound
    return Result(name, ok, figures)


def _watch_health(world: World, seconds: float) -> Counter[str]:
    """Ask /healthz again and again; count its answers."""
    seen: Counter[str] = Counter()
    until = time.monotonic() + seconds
    time.sleep(1.0)
    while time.monotonic() < until:
        try:
            answer = world.api.get("/healthz", timeout=5)
            seen[f"{answer.status} {answer.body.get('degraded')}"] += 1
        except Cut as cut:
            seen[f"cut {cut}"] += 1
        time.sleep(_LOOK_SECONDS)
    return seen


def restart(plan: Plan, progress: Progress) -> Result:
    """Redis killed three times and ended cleanly three times, under running turns."""
    with World(Options(keep=plan.keep)) as world:
        load = Load(world.api, random.Random(plan.seed), "s", _MIX)  # noqa: S311 - a drill
        load.start()
        time.sleep(_WARM_SECONDS)
        pids = {name: program.pid for name, program in world.workers.items()}
        cycles = restart_cycles(world, progress, _CYCLES)
        asks = load.stop()
        ended = [name for name, pid in pids.items() if world.workers[name].code is not None]
        verdict = Checker(world, asks).verdict()
    worst = max((max(c["consumes_again_s"].values()) for c in cycles), default=0.0)
    figures = {
        "cycles": cycles,
        "worst_s": worst,
        "workers_that_ended": ended,
        "checks": verdict.figures(),
    }
    lines = [f"    {c['how']:5} {c['consumes_again_s']}" for c in cycles]
    return Result(
        "redis-restart", verdict.ok and worst < _CONSUME_BAR and not ended, figures, lines
    )


def restart_cycles(world: World, progress: Progress, count: int) -> list[dict[str, Any]]:
    """Restart Redis `count` times; return how soon each worker took a message from it again."""
    cycles: list[dict[str, Any]] = []
    for number in range(count):
        how = "kill" if number % 2 == 0 else "clean"
        progress.say(f"restart {number + 1} of {count} ({how})", hurry=True)
        if how == "kill":
            world.valkey.kill()
        else:
            world.valkey.stop()
        time.sleep(1.0)
        world.valkey.start()
        cycles.append({"how": how, "consumes_again_s": _consumption(world)})
        time.sleep(1.0)
    return cycles


def _consumption(world: World) -> dict[str, float]:
    """Send each worker a message on the queue that only it serves, until it is taken.

    That its list in Redis gets empty again shows consumption, which an answered ping does not.
    """
    began = time.monotonic()
    taken: dict[str, float] = {}
    threads = [
        threading.Thread(target=_one, args=(world, name, began, taken)) for name in world.workers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def _one(world: World, name: str, began: float, taken: dict[str, float]) -> None:
    queue = _queue_of(world, name)
    producer = Producer(world.valkey.url())
    client = blocking_client(world.valkey.url())
    try:
        producer.send(queue, CANARY, [])
        while client.llen(_QUEUE_PREFIX + queue):
            if time.monotonic() - began > _GIVE_UP_SECONDS:
                break
            time.sleep(0.02)
        taken[name] = round(time.monotonic() - began, 2)
    finally:
        client.close()
        producer.close()


def _queue_of(world: World, name: str) -> str:
    """Return the queue of a worker's own messages, by its full name."""
    rows = world.records.rows(
        "SELECT id, host FROM workers WHERE pid = %s", world.workers[name].pid
    )
    return f"canary.{name}@{rows[0]['host']}"
