"""One whole bench: the measurements in their order, as one report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from scripts.benches import chunks, long, size, speed
from scripts.benches.fill import fill
from scripts.benches.plan import Plan
from scripts.benches.recovery import recovery
from scripts.benches.speed import Tally
from scripts.benches.stage import Stage
from scripts.harness.figures import spread
from scripts.harness.progress import Progress

Report = dict[str, Any]
_LOOPS = 5
_LOOP_LENGTH = 1_000_000
_LARGE_KEYS = ("ttft_added_ms", "turn_ms", "cpu_ms_per_turn", "turns_per_s_at_32")


class Bench:
    """Takes the measurements one by one."""

    def __init__(self, plan: Plan, progress: Progress) -> None:
        """Measure as `plan` says."""
        self._plan = plan
        self._progress = progress
        self._tally = Tally()
        self._report: Report = {"machine": machine()}

    def run(self) -> Report:
        """Start everything, measure, end everything; return the report."""
        plan = self._plan
        self._progress.begin("starting")
        with Stage() as stage:
            for _ in range(1, plan.starts):
                stage.stop_up()
                stage.start_up()
            self._step("idle memory", lambda: self._idle(stage))
            self._step("speed", lambda: self._speed(stage))
            self._step("long sessions", lambda: long.long_sessions(stage, self._tally, plan))
            self._step("chunks", lambda: {"chunk_us": _chunks()})
            self._step("recovery", lambda: {"recovery_s": recovery(stage, plan)})
            if plan.large is not None:
                self._step("large tables", lambda: self._large(stage))
            self._step("memory over many turns", lambda: self._growth(stage))
            if plan.parked:
                self._step("parked turns", lambda: self._parked(stage))
            self._report["start_s"] = {**spread(stage.starts), "first": round(stage.starts[0], 2)}
        self._report["machine"]["loop_ms_after"] = min(_loop_ms() for _ in range(_LOOPS))
        self._report["failed_turns"] = len(self._tally.failures)
        self._report["failures"] = self._tally.failures[:5]
        return self._report

    def _step(self, name: str, measure: Callable[[], Mapping[str, Any]]) -> None:
        self._progress.begin(name)
        began = time.monotonic()
        self._report.update(measure())
        self._report.setdefault("took_s", {})[name] = round(time.monotonic() - began, 1)

    def _idle(self, stage: Stage) -> Report:
        self._report["pss_mb"] = {"idle": None}
        idle = size.memory_mb(stage)
        if idle is None:
            return {}
        return {"pss_mb": {"idle": idle["total"], "idle_by_process": idle}}

    def _speed(self, stage: Stage) -> Report:
        plan, tally = self._plan, self._tally
        speed.warm(stage, tally)
        found = speed.alone(stage, tally, plan).figures()
        found |= speed.cpu(stage, tally, plan)
        found |= speed.throughput(stage, tally, plan)
        found["tool_turn_ms"] = speed.tool_turns(stage, tally, plan)
        found["all_in_model"] = speed.all_in_model(stage, tally)
        found["ratio_to_bare"] = _ratios(found)
        loaded = size.memory_mb(stage)
        if loaded is not None:
            after = {"after_load": loaded["total"], "after_load_by_process": loaded}
            found["pss_mb"] = self._report["pss_mb"] | after
        return found

    def _large(self, stage: Stage) -> Report:
        """Measure right before and right after the tables grow."""
        rows = self._plan.large
        assert rows is not None  # noqa: S101 - asked for only then
        speed.warm(stage, self._tally)
        before = self._state(stage)
        began = time.monotonic()
        fill(stage.records, rows)
        seconds = time.monotonic() - began
        speed.warm(stage, self._tally)
        after = self._state(stage)
        ratios = large_ratios(before, after)
        kept = {key: after[key] for key in _LARGE_KEYS}
        counts = {"sessions": rows.sessions, "jobs": rows.jobs, "fill_s": round(seconds, 1)}
        return {"large_tables": counts | kept | ratios}

    def _state(self, stage: Stage) -> Report:
        found = speed.alone(stage, self._tally, self._plan).figures()
        return found | speed.cpu(stage, self._tally, self._plan)

    def _growth(self, stage: Stage) -> Report:
        return {"memory": size.growth(stage, self._tally, self._plan)}

    def _parked(self, stage: Stage) -> Report:
        return {"parked": size.parked(stage, self._tally, self._plan)}


def _chunks() -> Report:
    found = chunks.measure()
    return {**found, "most_over": max(figures["over"] for figures in found.values())}


def machine() -> Report:
    """Describe the machine as far as it matters."""
    return {
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "at": time.strftime("%Y-%m-%d %H:%M"),
        "loop_ms": min(_loop_ms() for _ in range(_LOOPS)),
    }


def _loop_ms() -> float:
    """Return the CPU time of a fixed loop: one machine may be half as fast as an hour before."""
    began = time.process_time()
    total = 0
    for number in range(_LOOP_LENGTH):
        total += number
    return round(1000 * (time.process_time() - began), 1)


def large_ratios(before: Report, after: Report) -> Report:
    """Compare after with before, each beside the bare proxy of its own minutes.

    The proxy knows no tables: what changed for it, the machine changed.
    """
    slower = after["bare"]["turn_ms"]["p50"] / before["bare"]["turn_ms"]["p50"]
    dearer = after["bare_cpu_ms_per_turn"] / before["bare_cpu_ms_per_turn"]
    turn = after["turn_ms"]["p50"] / before["turn_ms"]["p50"] / slower
    rate = after["turns_per_s_at_32"] / before["turns_per_s_at_32"] * dearer
    cpu = after["cpu_ms_per_turn"]["total"] / before["cpu_ms_per_turn"]["total"] / dearer
    return {
        "turn_ratio": round(turn, 3),
        "turns_per_s_ratio": round(rate, 3),
        "cpu_ratio": round(cpu, 3),
    }


def _ratios(found: Mapping[str, Any]) -> dict[str, float]:
    bare = found["bare"]
    first = found["ttft_added_ms"]["p50"] / bare["ttft_added_ms"]["p50"]
    cpu = found["cpu_ms_per_turn"]["total"] / found["bare_cpu_ms_per_turn"]
    return {"ttft_added": round(first, 2), "cpu_ms_per_turn": round(cpu, 2)}
