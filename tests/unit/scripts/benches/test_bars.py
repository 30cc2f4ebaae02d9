from __future__ import annotations

import pytest

from scripts.benches.bars import LIMITS, Bar, Limit, bars, broken

_MOST = Limit("a cost", ("cost", "p50"), 10, "ms")
_LEAST = Limit("a rate", ("rate",), 150, at_least=True)


@pytest.mark.parametrize(("figure", "holds"), [(9.9, True), (10.0, True), (10.1, False)])
def test_a_cost_holds_up_to_its_bound(figure: float, holds: bool) -> None:
    assert Bar(_MOST, figure).holds is holds


@pytest.mark.parametrize(("figure", "holds"), [(149.0, False), (150.0, True)])
def test_a_rate_holds_from_its_bound_on(figure: float, holds: bool) -> None:
    assert Bar(_LEAST, figure).holds is holds


def test_what_was_not_measured_breaks_nothing_and_does_not_hold() -> None:
    found = bars({"ttft_added_ms": {"p50": None}})
    assert {bar.holds for bar in found} == {None}
    assert broken(found) == []


def test_a_figure_above_its_bar_is_named() -> None:
    assert [bar.limit.name for bar in broken(bars({"cpu_ms_per_turn": {"total": 9.5}}))] == [
        "CPU a turn, all together"
    ]


def test_no_two_bars_have_one_name() -> None:
    assert len({limit.name for limit in LIMITS}) == len(LIMITS)
