"""How soon another worker asks the model again after the first one was killed in its stream."""

from __future__ import annotations

import time

from scripts.drills.asks import Ask, Surface
from scripts.drills.checker import Checker
from scripts.drills.clients import Patience, carry_out, post_chat
from scripts.drills.report import Plan, Result
from scripts.drills.world import NotReady, Options, World
from scripts.harness.figures import spread
from scripts.harness.progress import Progress

# The house's own targets, in seconds (reference figures: 0.09 and 0.23 in a prototype).
_MEDIAN, _SLOW = 0.5, 2.0
_RESTED = "SELECT 1 WHERE now() - pg_postmaster_start_time() > interval '11 s'"
_POLL_SECONDS = 0.005
_PATIENCE_SECONDS = 60.0


def run(plan: Plan, progress: Progress) -> Result:
    """Kill the worker of `plan.times` turns, one at a time."""
    with World(Options(keep=plan.keep)) as world:
        # Right after PostgreSQL's start a missing presence lock counts for nothing, by design.
        world.await_true(lambda: bool(world.records.rows(_RESTED)), "PostgreSQL to be rested")
        asks: list[Ask] = []
        seconds: list[float] = []
        for number in range(plan.times):
            progress.say(f"turn {number + 1} of {plan.times}", hurry=True)
            text = f"recover-{number} [[tokens 40]] [[delay 0.02]]"
            asks.append(Ask(f"recover-{number}", Surface.CHAT, text, (), f"recover-{number}"))
            seconds.append(_kill_one(world, asks[-1]))
        verdict = Checker(world, asks).verdict()
    figures = {"kill_to_next_model_request_s": spread(seconds), "checks": verdict.figures()}
    found = spread(seconds)
    ok = verdict.ok and found["p50"] < _MEDIAN and found["p95"] < _SLOW
    return Result("recovery", ok, figures)


def _kill_one(world: World, ask: Ask) -> float:
    """Kill the worker that streams this turn; return the seconds to the next model request."""
    post_chat(world.api, ask)
    turn = ask.turn or ""
    world.await_true(lambda: bool(world.model_calls(ask.id + " ")), "the model's first request")
    name = _runner(world, turn)
    killed = time.time()
    world.workers[name].kill()
    again = _await_again(world, ask, killed)
    world.start_worker(name)
    carry_out(world.api, ask, Patience(_PATIENCE_SECONDS))
    world.await_workers(name)
    return again - killed


def _runner(world: World, turn: str) -> str:
    """Return the name of the worker that runs a turn."""
    pids = {program.pid: name for name, program in world.workers.items()}
    found: list[int] = []

    def runs() -> bool:
        pid = world.records.runner_of(turn)
        found.extend([pid] if pid is not None else [])
        return bool(found)

    world.await_true(runs, "a worker for the turn")
    return pids[found[0]]


def _await_again(world: World, ask: Ask, killed: float) -> float:
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        later = [at for at in world.model_calls(ask.id + " ") if at > killed]
        if later:
            return later[0]
        time.sleep(_POLL_SECONDS)
    raise NotReady(f"nobody asked the model again about {ask.id}")
