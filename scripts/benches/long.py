"""Turns in long sessions, as they are and summed up, beside turns in new ones."""

from __future__ import annotations

import time
from typing import Any

from habakkuk.conversations.store import transcript
from habakkuk.db.engine import Database
from scripts.benches.client import Load, Run
from scripts.benches.fill import long_session
from scripts.benches.plan import Plan
from scripts.benches.speed import Tally, add
from scripts.benches.stage import Stage

_COPIES = 4
_LOADS = 50
_SUMMED = "SELECT count(*) AS n FROM compactions"


def long_sessions(stage: Stage, tally: Tally, plan: Plan) -> dict[str, Any]:
    """Measure turns in long sessions, new ones beside them."""
    report: dict[str, Any] = {}
    for messages in plan.long:
        new, within = _turns(stage, tally, plan, ("tools", messages), "habakkuk")
        adds = float(within.whole_ms()["p50"]) - float(new.whole_ms()["p50"])
        report[f"session_{messages}"] = {
            "ttft_ms": within.first_ms(),
            "turn_ms": within.whole_ms(),
            "new_turn_ms": new.whole_ms(),
            "adds_ms": round(adds, 2),
        }
    if plan.summed:
        report["summed"] = _summed(stage, tally, plan)
    return report


def _summed(stage: Stage, tally: Tally, plan: Plan) -> dict[str, Any]:
    """Measure turns in sessions that a summary made short, with both models."""
    report: dict[str, Any] = {"messages": plan.summed}
    for agent, model in (("summed", "instant"), ("summedslow", "500ms")):
        before = stage.records.rows(_SUMMED)[0]["n"]
        new, within = _turns(stage, tally, plan, (agent, plan.summed), agent)
        if stage.records.rows(_SUMMED)[0]["n"] < before + _COPIES:
            raise RuntimeError("the long sessions were not summed up")
        ratio = float(within.whole_ms()["p50"]) / float(new.whole_ms()["p50"])
        report[model] = {
            "turn_ms": within.whole_ms(),
            "new_turn_ms": new.whole_ms(),
            "ratio": round(ratio, 3),
        }
    return report | {"load_ms": _load_ms(stage)}


def _turns(
    stage: Stage, tally: Tally, plan: Plan, long: tuple[str, int], beside: str
) -> tuple[Run, Run]:
    """Return turns of new sessions of the agent `beside`, and of long ones of an agent."""
    agent, messages = long
    sessions = [long_session(stage.api, stage.records, agent, messages) for _ in range(_COPIES)]
    tally.run(stage.product(agent), Load(sessions=1, turns=_COPIES), sessions)
    new, within = Run(), Run()
    once = Load(sessions=1, turns=plan.alone // 2)
    for _ in range(plan.rounds):
        add(new, tally.run(stage.product(beside), once))
        add(within, tally.run(stage.product(agent), once, sessions))
    return new, within


def _load_ms(stage: Stage) -> float:
    """Return the median of loading what a model is sent of such a session, in milliseconds."""
    session = stage.records.rows("SELECT session_id AS id FROM compactions LIMIT 1")[0]["id"]
    database = Database(stage.database_url, pool_size=1, name="bench")
    times = []
    try:
        for _ in range(_LOADS):
            began = time.perf_counter()
            transcript.from_compaction(database, session)
            times.append(time.perf_counter() - began)
    finally:
        database.dispose()
    return round(sorted(times)[_LOADS // 2] * 1000, 2)
