"""How much is measured: all of it, or what fits into two minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scripts.benches.fill import Rows

_YEARS = Rows(sessions=100_000, jobs=1_000_000)


@dataclass(frozen=True)
class Plan:
    """Counts and lengths; what is 0 or None is left out.

    `alone` turns of one session in each of `rounds`; `levels` of sessions for `seconds` after
    `ramp`; `long` sessions of how many messages, `summed` one with a summary; `memory` is (turns,
    ten times the turns).
    """

    rounds: int = 4
    alone: int = 60
    levels: Sequence[int] = (1, 8, 32, 128, 256)
    seconds: float = 5.0
    ramp: float = 1.5
    cpu_rounds: int = 3
    starts: int = 3
    kills: int = 8
    memory: tuple[int, int] = (2_000, 20_000)
    large: Rows | None = _YEARS
    long: Sequence[int] = (400, 10_000)
    summed: int = 10_000
    parked: int = 10_000


FULL = Plan()
QUICK = Plan(
    rounds=2,
    alone=40,
    levels=(1, 32, 256),
    seconds=3.0,
    ramp=1.0,
    cpu_rounds=1,
    starts=1,
    kills=2,
    memory=(200, 2_000),
    large=None,
    long=(400,),
    parked=0,
)
