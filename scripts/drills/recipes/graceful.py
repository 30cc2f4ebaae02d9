"""SIGTERM to every worker under streaming turns: they end in time and hand their turns on."""

from __future__ import annotations

import threading
import time

from scripts.drills.asks import Ask, Surface
from scripts.drills.checker import Checker
from scripts.drills.clients import Patience, carry_out
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.figures import spread
from scripts.harness.progress import Progress

_TURNS = 32
_BAR_SECONDS = 10.0
_MOST_CALLS = 2
_PATIENCE_SECONDS = 90.0


def run(plan: Plan, progress: Progress) -> Result:
    """Let 32 turns stream, end both workers, start them again."""
    with World(Options(keep=plan.keep)) as world:
        asks = [_ask(number) for number in range(_TURNS)]
        patience = Patience(_PATIENCE_SECONDS)
        threads = [
            threading.Thread(target=carry_out, args=(world.api, ask, patience), daemon=True)
            for ask in asks
        ]
        for thread in threads:
            thread.start()
        progress.say("waiting for 32 streams", hurry=True)
        world.await_true(lambda: len(world.model_seen()["requests"]) >= _TURNS, "32 streams")
        time.sleep(0.5)  # into the middle of the streams
        progress.say("ending the workers", hurry=True)
        seconds = _end_all(world)
        for name in list(world.workers):
            world.start_worker(name)
        for thread in threads:
            thread.join()
        calls = [len(world.model_calls(ask.id + " ")) for ask in asks]
        verdict = Checker(world, asks).verdict()
    ended = [taken for taken in seconds if taken is not None]
    in_time = len(ended) == len(seconds) and max(ended) < _BAR_SECONDS
    figures = {
        "turns": _TURNS,
        "sigterm_to_exit_s": spread(ended),
        "killed_in_the_end": len(seconds) - len(ended),
        "most_model_calls_per_turn": max(calls),
        "repeated_model_calls": sum(calls) - _TURNS,
        "checks": verdict.figures(),
    }
    return Result("graceful", verdict.ok and in_time and max(calls) <= _MOST_CALLS, figures)


def _ask(number: int) -> Ask:
    text = f"graceful-{number} [[tokens 60]] [[delay 0.1]]"
    return Ask(f"graceful-{number}", Surface.CHAT, text, (), f"graceful-{number}")


def _end_all(world: World) -> list[float | None]:
    """Send SIGTERM to all workers at once; return how long each took."""
    taken: list[float | None] = []
    threads = [
        threading.Thread(target=lambda p=program: taken.append(p.terminate(2 * _BAR_SECONDS)))
        for program in world.workers.values()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken
