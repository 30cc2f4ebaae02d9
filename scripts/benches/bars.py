"""The bars: what has to hold, on two cores, and whether it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_Path = tuple[str, ...]


@dataclass(frozen=True)
class Limit:
    """One bar: the figure's place in the report, and how much it may at most (or least) be."""

    name: str
    path: _Path
    bound: float
    unit: str = ""
    at_least: bool = False


@dataclass(frozen=True)
class Bar:
    """A bar with its figure; None was not measured, which breaks nothing."""

    limit: Limit
    figure: float | None

    @property
    def holds(self) -> bool | None:
        """Whether it holds; None when it was not measured."""
        if self.figure is None:
            return None
        if self.limit.at_least:
            return self.figure >= self.limit.bound
        return self.figure <= self.limit.bound

    def as_json(self) -> dict[str, Any]:
        """Return what programs read."""
        kind = "at_least" if self.limit.at_least else "at_most"
        return {
            "name": self.limit.name,
            "figure": self.figure,
            kind: self.limit.bound,
            "unit": self.limit.unit,
            "holds": self.holds,
        }


LIMITS = (
    Limit("first token added, median", ("ttft_added_ms", "p50"), 10, "ms"),
    Limit("first token added, 95th percentile", ("ttft_added_ms", "p95"), 25, "ms"),
    Limit("first token added, times the bare proxy's", ("ratio_to_bare", "ttft_added"), 8, "x"),
    Limit(
        "32 sessions, instant model",
        ("turns_per_s", "instant", "32"),
        150,
        "turns/s",
        at_least=True,
    ),
    Limit(
        "256 sessions, 500 ms model", ("turns_per_s", "500ms", "256"), 150, "turns/s", at_least=True
    ),
    Limit("256 turns at once in the model within", ("all_in_model", "seconds"), 1, "s"),
    Limit("256 turns at once in the model: seen", ("all_in_model", "seen"), 256, "", at_least=True),
    Limit("CPU a turn, all together", ("cpu_ms_per_turn", "total"), 9, "ms"),
    Limit("400 messages and 20 tools add", ("session_400", "adds_ms"), 6, "ms"),
    Limit("a summed-up session of 10,000 messages loads in", ("summed", "load_ms"), 20, "ms"),
    Limit("its turn, times a new one's, instant model", ("summed", "instant", "ratio"), 1.15, "x"),
    Limit("its turn, times a new one's, 500 ms model", ("summed", "500ms", "ratio"), 1.15, "x"),
    Limit("a chunk, over the SDK's own iteration", ("chunk_us", "most_over"), 50, "us"),
    Limit("idle memory of our processes", ("pss_mb", "idle"), 300, "MB"),
    Limit("large tables: turn, times the small ones'", ("large_tables", "turn_ratio"), 1.1, "x"),
    Limit(
        "large tables: turns/s, times the small ones'",
        ("large_tables", "turns_per_s_ratio"),
        0.9,
        "x",
        at_least=True,
    ),
    Limit("memory after ten times the turns", ("memory", "ratio"), 1.1, "x"),
    Limit("threads that parked turns hold", ("parked", "threads_held"), 0),
    Limit("Redis bytes of a parked turn", ("parked", "redis_bytes_each"), 1000, "bytes"),
    Limit("turns that failed", ("failed_turns",), 0),
)


def bars(report: Mapping[str, Any]) -> list[Bar]:
    """Return every bar with its figure from the report."""
    return [Bar(limit, _figure(report, limit.path)) for limit in LIMITS]


def broken(found: list[Bar]) -> list[Bar]:
    """Return those that were measured and do not hold."""
    return [bar for bar in found if bar.holds is False]


def _figure(report: Mapping[str, Any], path: _Path) -> float | None:
    value: Any = report
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) else None
