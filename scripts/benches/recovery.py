"""How soon a turn goes on elsewhere after the worker that ran it was killed."""

from __future__ import annotations

import os
import signal
import time

from scripts.benches.client import PROMPT
from scripts.benches.plan import Plan
from scripts.benches.stage import NotReady, Stage
from scripts.harness.figures import spread

# Right after PostgreSQL's start a missing presence lock counts for nothing, by design.
_RESTED = "SELECT 1 AS n WHERE now() - pg_postmaster_start_time() > interval '11 s'"


def recovery(stage: Stage, plan: Plan) -> dict[str, float | int]:
    """Return the spread of seconds from a kill to the next model request."""
    stage.await_true(lambda: bool(stage.records.rows(_RESTED)), "PostgreSQL to be rested")
    return spread([_kill_one(stage, number) for number in range(plan.kills)])


def _kill_one(stage: Stage, number: int) -> float:
    _arrivals(stage)
    conversation = f"recovery-{number}"
    body = {"conversation": conversation, "text": PROMPT, "agent": "long"}
    turn = stage.api.post("/api/chat", body).body["turn"]
    stage.await_true(lambda: bool(_arrivals(stage)), "the model's first request")
    pid = _runner(stage, turn)
    killed = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    seconds = _next_arrival(stage) - killed
    stage.api.post(f"/api/chat/{conversation}/stop", {})
    stage.await_true(lambda: _whole_again(stage, pid), "the killed worker's successor")
    return seconds


def _runner(stage: Stage, turn: str) -> int:
    """Return the process that runs the turn: one that this stage's `up` started."""
    pid = stage.records.runner_of(turn)
    if pid is None or pid not in stage.roots()["workers"]:
        raise NotReady("no worker of this bench runs the turn")
    return pid


def _next_arrival(stage: Stage) -> float:
    found: list[float] = []

    def came() -> bool:
        found.extend(_arrivals(stage))
        return bool(found)

    stage.await_true(came, "the model's next request")
    return found[0]


def _arrivals(stage: Stage) -> list[float]:
    """Return when the model was asked since the last look."""
    times: list[float] = stage.model_api.get("/control").body["arrivals"]
    return times


def _whole_again(stage: Stage, killed: int) -> bool:
    stage.reread()
    workers = set(stage.roots()["workers"])
    return killed not in workers and workers <= stage.records.alive()
