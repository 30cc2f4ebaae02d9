from __future__ import annotations

from typing import Any

from scripts.benches.measure import large_ratios


def _state(turn: float, rate: float, cpu: float, bare_turn: float, bare_cpu: float) -> Any:
    return {
        "turn_ms": {"p50": turn},
        "turns_per_s_at_32": rate,
        "cpu_ms_per_turn": {"total": cpu},
        "bare": {"turn_ms": {"p50": bare_turn}},
        "bare_cpu_ms_per_turn": bare_cpu,
    }


def test_a_machine_that_became_slower_is_not_the_tables_fault() -> None:
    small, large = _state(10, 200, 8, 2, 1), _state(12, 200 / 1.2, 9.6, 2.4, 1.2)
    assert set(large_ratios(small, large).values()) == {1.0}


def test_what_the_proxy_did_not_feel_is() -> None:
    small, large = _state(10, 200, 8, 2, 1), _state(13, 150, 10, 2, 1)
    assert large_ratios(small, large) == {
        "turn_ratio": 1.3,
        "turns_per_s_ratio": 0.75,
        "cpu_ratio": 1.25,
    }
