"""What a recipe is given and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Plan:
    """How long and how hard.

    `cycles` and `kills` (in each; 0 for its own number) are those of the recipe `kills`, `seconds`
    is the length of outages, `timed` whether slowness alone breaks it, `rest` that of clients'
    pauses, `times` how often others repeat.
    """

    cycles: int = 15
    kills: int = 0
    seconds: float = 30.0
    seed: int = 1
    keep: bool = False
    timed: bool = True
    rest: float = 0.5
    times: int = 20


@dataclass(frozen=True)
class Result:
    """One recipe's verdict, its figures for programs and its lines for people."""

    name: str
    ok: bool
    figures: dict[str, Any]
    lines: Sequence[str] = field(default_factory=list)
