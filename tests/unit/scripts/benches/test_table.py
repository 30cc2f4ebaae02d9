from __future__ import annotations

import re
from typing import Any

from scripts.benches.bars import bars
from scripts.benches.table import lines

_SPREAD = {"count": 3, "p50": 5.2, "p95": 7.1, "max": 8.0}
_REPORT: dict[str, Any] = {
    "machine": {"cores": 2, "load_before": 0.1, "at": "2026-11-30 09:00", "loop_ms": 50.2},
    "ttft_added_ms": _SPREAD,
    "turn_ms": _SPREAD,
    "tool_turn_ms": _SPREAD,
    "start_s": _SPREAD,
    "recovery_s": _SPREAD,
    "bare": {"ttft_added_ms": _SPREAD, "turn_ms": _SPREAD},
    "turns_per_s": {"instant": {"1": 100.0, "32": 140.0}, "500ms": {"1": 1.9, "32": 60.0}},
    "bare_turns_per_s": {"instant": {"1": 700.0, "32": 900.0}},
    "cpu_ms_per_turn": {"web": 1.5, "total": 6.0, "rounds": _SPREAD},
    "bare_cpu_ms_per_turn": 1.2,
    "harness_cpu_ms_per_turn": {"model": 0.3, "client": 0.3},
    "pss_mb": {"idle": None},
    "memory": {"turns": [200, 2000], "ratio": None},
}


def test_each_bar_stands_with_its_figure_and_whether_it_holds() -> None:
    text = "\n".join(lines(_REPORT, bars(_REPORT)))
    assert "32 sessions, instant model" in text
    assert re.search(r"≥ 150 turns/s +BROKEN", text)
    assert re.search(r"≤ 10 ms +holds", text)


def test_what_cannot_be_read_here_is_said() -> None:
    text = "\n".join(lines(_REPORT, bars(_REPORT)))
    assert "not readable here" in text
    assert "not measured" in text
