"""PostgreSQL ended as by a crash, under load: new messages are refused, nothing is lost."""

from __future__ import annotations

import random
import time
from collections import Counter

from scripts.drills.checker import Checker
from scripts.drills.load import Load, Mix
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.http import Cut
from scripts.harness.progress import Progress

_MIX = Mix(chat=8, whole=2, stream=2, rest=0.1)
_AWAY_SECONDS = 4.0
_WARM_SECONDS = 4.0
_BACK_SECONDS = 5.0
_TIMES = 3
_ACCEPTED, _UNAVAILABLE = 202, 503


def run(plan: Plan, progress: Progress) -> Result:
    """Crash PostgreSQL three times."""
    refusals: Counter[str] = Counter()
    back: list[float] = []
    with World(Options(keep=plan.keep)) as world:
        load = Load(world.api, random.Random(plan.seed), "p", _MIX)  # noqa: S311 - a drill
        load.start()
        for number in range(_TIMES):
            time.sleep(_WARM_SECONDS)
            progress.say(f"crash {number + 1} of {_TIMES}", hurry=True)
            world.postgres.kill()
            refusals += _refused(world)
            world.postgres.start()
            back.append(_seconds_until_accepted(world, number))
        asks = load.stop()
        ended = [name for name, program in world.workers.items() if program.code is not None]
        verdict = Checker(world, asks).verdict()
    right = f"{_UNAVAILABLE} with Retry-After"
    figures = {
        "crashes": _TIMES,
        "answers_meanwhile": dict(refusals),
        "accepted_again_s": [round(seconds, 2) for seconds in back],
        "workers_that_ended": ended,
        "checks": verdict.figures(),
    }
    ok = verdict.ok and set(refusals) == {right} and max(back) < _BACK_SECONDS and not ended
    return Result("postgres-crash", ok, figures)


def _refused(world: World) -> Counter[str]:
    """Post messages while PostgreSQL is away; count what comes back."""
    seen: Counter[str] = Counter()
    until = time.monotonic() + _AWAY_SECONDS
    while time.monotonic() < until:
        try:
            answer = world.api.post("/api/chat", {"conversation": "away", "text": "refuse me"})
            named = "with" if answer.headers.get("retry-after") else "without"
            seen[f"{answer.status} {named} Retry-After"] += 1
        except Cut as cut:
            seen[f"cut {cut}"] += 1
        time.sleep(0.1)
    return seen


def _seconds_until_accepted(world: World, number: int) -> float:
    began = time.monotonic()
    while True:
        try:
            body = {"conversation": f"back-{number}", "text": f"welcome back {number}"}
            if world.api.post("/api/chat", body).status == _ACCEPTED:
                return time.monotonic() - began
        except Cut:
            pass
        time.sleep(0.05)
