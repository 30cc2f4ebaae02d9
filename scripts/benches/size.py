"""What the processes hold: memory when idle and after load, and what a parked turn keeps."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scripts.benches.client import PROMPT, Load
from scripts.benches.fill import newest_sessions
from scripts.benches.plan import Plan
from scripts.benches.processes import everything, family, pss_mb, threads
from scripts.benches.speed import BUSY, Tally, all_in_model
from scripts.benches.stage import Stage

_SETTLED = 0.003
_LOOK_SECONDS = 1.0
_LOOKS = 15
_SENDERS = 16
_ACCEPTED = 202
_PARK_SECONDS = 600.0
# Live streams go a minute after their turn parked.
_EXPIRY_SECONDS = 100.0
_STREAMS = "hab:1:ev:*"
_WAITING = "SELECT count(*) AS n FROM jobs WHERE state = 'waiting'"
_RUNNING = "SELECT count(*) AS n FROM jobs WHERE state = 'running'"
_OURS = ("web", "workers", "processes", "beat")


def memory_mb(stage: Stage) -> dict[str, float] | None:
    """Return the memory of our processes once it stands still; None where it may not be read."""
    before = _memory(stage)
    for _ in range(_LOOKS):
        time.sleep(_LOOK_SECONDS)
        now = _memory(stage)
        if before is None or now is None:
            return None
        if abs(now["total"] - before["total"]) <= _SETTLED * now["total"]:
            return now
        before = now
    return before


def growth(stage: Stage, tally: Tally, plan: Plan) -> dict[str, Any]:
    """Measure the memory after some turns, each in a session of its own, and after ten times more.

    The later ones are in the same sessions. The processes are new, so that nothing came before.
    """
    stage.stop_up()
    stage.start_up()
    first, all_of_them = plan.memory
    tally.run(stage.product(), Load(BUSY, turns=first))
    early = memory_mb(stage)
    sessions = newest_sessions(stage.records, "habakkuk", first)
    tally.run(stage.product(), Load(BUSY, turns=all_of_them - first), sessions)
    late = memory_mb(stage)
    if early is None or late is None:
        return {"turns": [first, all_of_them], "ratio": None}
    ratio = round(late["total"] / early["total"], 3)
    return {"turns": [first, all_of_them], "early_mb": early, "late_mb": late, "ratio": ratio}


def parked(stage: Stage, tally: Tally, plan: Plan) -> dict[str, Any]:
    """Let turns wait for an approval, and see what they hold in threads and in Redis."""
    # Afterwards every thread of the pools is there, so that a new one would be a turn's own.
    unparked = all_in_model(stage, tally)
    workers = stage.roots()["workers"]
    redis = stage.redis()
    stage.await_true(lambda: not _streams(stage), "the live streams", seconds=_EXPIRY_SECONDS)
    threads_before, bytes_before = threads(workers), _redis_bytes(redis)
    began = time.monotonic()
    _park(stage, plan.parked)
    stage.await_true(
        lambda: stage.records.rows(_WAITING)[0]["n"] >= plan.parked,
        "parked turns",
        seconds=_PARK_SECONDS,
    )
    seconds = time.monotonic() - began
    streamed = _redis_bytes(redis) - bytes_before
    stage.await_true(lambda: not _streams(stage), "the live streams", seconds=_EXPIRY_SECONDS)
    kept = _redis_bytes(redis) - bytes_before
    redis.close()
    return {
        "turns": plan.parked,
        "parked_per_s": round(plan.parked / seconds, 1),
        "running": stage.records.rows(_RUNNING)[0]["n"],
        "threads_held": max(0, threads(workers) - threads_before),
        "redis_bytes_each": round(kept / plan.parked, 1),
        "redis_bytes_each_at_once": round(streamed / plan.parked, 1),
        "pss_mb": memory_mb(stage),
        "all_in_model_before_s": unparked["seconds"],
        "all_in_model_beside_s": all_in_model(stage, tally)["seconds"],
    }


def _memory(stage: Stage) -> dict[str, float] | None:
    machine = everything()
    roots = stage.roots()
    found = {"up": pss_mb([stage.up_pid])}
    for name in _OURS:
        found[name] = pss_mb(s.pid for root in roots[name] for s in family(root, machine))
    known = {name: mb for name, mb in found.items() if mb is not None}
    if len(known) < len(found):
        return None
    return known | {"total": round(sum(known.values()), 1)}


def _park(stage: Stage, count: int) -> None:
    api = stage.api

    def send(number: int) -> None:
        body = {"conversation": f"parked-{number}", "text": PROMPT, "agent": "asker"}
        answer = api.post("/api/chat", body, timeout=60)
        if answer.status != _ACCEPTED:
            raise RuntimeError(f"a message was not accepted: {answer.status} {answer.body}")

    with ThreadPoolExecutor(_SENDERS) as senders:
        for _ in senders.map(send, range(count)):
            pass


def _streams(stage: Stage) -> bool:
    client = stage.redis()
    try:
        return next(client.scan_iter(_STREAMS, count=1000), None) is not None
    finally:
        client.close()


def _redis_bytes(client: Any) -> int:
    return int(client.info("memory")["used_memory"])
