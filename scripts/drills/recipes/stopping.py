"""/stop on a stalled stream: how soon the model's server sees its socket closed."""

from __future__ import annotations

import time

from scripts.drills.asks import Ask, Surface
from scripts.drills.clients import post_chat
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.figures import spread
from scripts.harness.progress import Progress

_BAR_SECONDS = 0.5
_TIMES = 10


def run(plan: Plan, progress: Progress) -> Result:
    """Stop stalled turns one after the other."""
    seconds: list[float] = []
    faults: list[str] = []
    with World(Options(keep=plan.keep)) as world:
        for number in range(_TIMES):
            progress.say(f"stop {number + 1} of {_TIMES}", hurry=True)
            room = f"stop-{number}"
            # Every second one stalls before its headers, where no stream is open yet.
            how = "[[stall headers]]" if number % 2 else "[[stall]]"
            ask = Ask(room, Surface.CHAT, f"{room} {how} words", (), room)
            seconds.append(_stop_one(world, ask))
            faults += _faults(world, ask)
    found = spread(seconds)
    ok = not faults and found["max"] < _BAR_SECONDS
    return Result("stop", ok, {"stop_to_closed_socket_s": found, "faults": faults})


def _stop_one(world: World, ask: Ask) -> float:
    """Return the seconds from the request to stop to the closed socket."""
    before = len(world.model_seen()["disconnects"])
    post_chat(world.api, ask)
    world.await_true(lambda: bool(world.model_calls(ask.id + " ")), "the model's request")
    time.sleep(0.3)  # the stream must have stalled, which nothing outside can see
    told = time.time()
    world.api.post(f"/api/chat/{ask.conversation}/stop", {})
    world.await_true(lambda: len(world.model_seen()["disconnects"]) > before, "the closed socket")
    return float(world.model_seen()["disconnects"][before]) - told


def _faults(world: World, ask: Ask) -> list[str]:
    """Return what is wrong: the turn ends as cancelled, with something that the person sees."""
    answer = world.api.get(f"/api/turns/{ask.turn}?wait=10").body
    if answer.get("outcome") != "cancelled" or answer.get("reply") is None:
        return [f"{ask.id} ended as {answer}"]
    return []
