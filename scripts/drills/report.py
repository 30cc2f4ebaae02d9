"""What a recipe is given and what it gives back; how the drill speaks while it works."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_PAUSE_SECONDS = 0.3


@dataclass(frozen=True)
class Plan:
    """How long and how hard. `seconds` is the length of outages, `rest` that of clients' pauses."""

    kills: int = 300
    seconds: float = 30.0
    seed: int = 1
    keep: bool = False
    rest: float = 0.05
    times: int = 20


@dataclass(frozen=True)
class Result:
    """One recipe's verdict, its figures for programs and its lines for people."""

    name: str
    ok: bool
    figures: dict[str, Any]
    lines: Sequence[str] = field(default_factory=list)


class Progress:
    """One calm line on stderr, rewritten in place; nothing when nobody watches."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Speak to a terminal only."""
        self._quiet = quiet or not sys.stderr.isatty()
        self._recipe = ""
        self._said = 0.0

    def begin(self, recipe: str) -> None:
        """Name what begins."""
        self._recipe = recipe
        self.say("starting", hurry=True)

    def say(self, text: str, *, hurry: bool = False) -> None:
        """Say how far it is, at most a few times a second."""
        if not self._quiet and (hurry or time.monotonic() - self._said > _PAUSE_SECONDS):
            self._said = time.monotonic()
            sys.stderr.write(f"\r\033[K{self._recipe}: {text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if not self._quiet:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def spread(values: Sequence[float]) -> dict[str, float | int]:
    """Return count, median, 95th percentile and maximum, in the values' unit."""
    if not values:
        return {"count": 0}
    ordered = sorted(values)
    return {
        "count": len(ordered),
        "p50": round(ordered[len(ordered) // 2], 3),
        "p95": round(ordered[math.ceil(len(ordered) * 0.95) - 1], 3),
        "max": round(ordered[-1], 3),
    }
