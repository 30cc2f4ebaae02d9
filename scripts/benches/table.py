"""The report for people: calm tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.benches.bars import Bar

_SESSION = "session_"
_LARGE = 100
_LOOPS = ("loop_ms", "loop_ms_after")
_VERDICTS = {True: "holds", False: "BROKEN", None: "not measured"}


def lines(report: Mapping[str, Any], bars: Sequence[Bar]) -> Iterator[str]:
    """Yield the lines of a report."""
    machine = report["machine"]
    yield f"{machine['cores']} cores, load {machine['load_before']} before, {machine['at']}"
    loops = " and ".join(f"{machine[key]:.0f} ms" for key in _LOOPS if key in machine)
    yield f"a million additions in Python: {loops}"
    yield ""
    yield from _rows(_figures(report), ("", "p50", "p95"))
    yield ""
    yield from _rows(_rates(report), ("turns a second", *_levels(report)))
    yield ""
    yield from _rows(_costs(report), ("CPU ms a turn", ""))
    yield ""
    yield from _rows(_sizes(report), ("size", ""))
    yield ""
    yield from _rows([_bar(bar) for bar in bars], ("bar", "figure", "bound", ""))


def _figures(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    large, bare = report.get("large_tables", {}), report["bare"]
    named = [
        ("first token added, ms", report["ttft_added_ms"]),
        ("  bare proxy", bare["ttft_added_ms"]),
        ("  large tables", large.get("ttft_added_ms")),
        ("turn, ms", report["turn_ms"]),
        ("  bare proxy", bare["turn_ms"]),
        ("  large tables", large.get("turn_ms")),
        ("turn with a tool call, ms", report["tool_turn_ms"]),
        ("start, s", report["start_s"]),
        ("recovery, s", report["recovery_s"]),
    ]
    for name, value in report.items():
        if name.startswith(_SESSION):
            title = f"turn after {name.removeprefix(_SESSION)} messages, ms"
            named.append((title, value["turn_ms"]))
    for title, value in named:
        if value is not None:
            yield (title, _plain(value["p50"]), _plain(value["p95"]))


def _levels(report: Mapping[str, Any]) -> list[str]:
    return list(report["turns_per_s"]["instant"])


def _rates(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for title, key in (("", "turns_per_s"), ("bare proxy, ", "bare_turns_per_s")):
        for model, rates in report[key].items():
            yield (f"{title}{model} model", *(_plain(rate) for rate in rates.values()))


def _costs(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in report["cpu_ms_per_turn"].items():
        if name != "rounds":
            yield (name, _plain(value))
    yield ("bare proxy", _plain(report["bare_cpu_ms_per_turn"]))
    for name, value in report["harness_cpu_ms_per_turn"].items():
        yield (f"not counted: {name}", _plain(value))


def _sizes(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    yield ("idle, MB", _by_process(report["pss_mb"].get("idle_by_process")))
    yield ("after load, MB", _by_process(report["pss_mb"].get("after_load_by_process")))
    memory = report["memory"]
    for name, turns in zip(("early_mb", "late_mb"), memory["turns"], strict=True):
        yield (f"after {turns:,} turns, MB", _by_process(memory.get(name)))
    if parked := report.get("parked"):
        threads, each = parked["threads_held"], parked["redis_bytes_each"]
        yield (
            f"{parked['turns']:,} parked turns",
            f"{threads} threads, {each} bytes in Redis each",
        )


def _by_process(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "not readable here"
    return "  ".join(f"{name} {_plain(mb)}" for name, mb in found.items())


def _bar(bar: Bar) -> tuple[str, ...]:
    sign = "≥" if bar.limit.at_least else "≤"
    figure = "-" if bar.figure is None else _plain(bar.figure)
    return (
        bar.limit.name,
        figure,
        f"{sign} {bar.limit.bound:g} {bar.limit.unit}",
        _VERDICTS[bar.holds],
    )


def _rows(rows: Any, head: Sequence[str]) -> Iterator[str]:
    """Yield rows under a head, the columns as wide as they need."""
    table = [tuple(head), *rows]
    widths = [max(len(row[n]) for row in table if n < len(row)) for n in range(len(head))]
    for row in table:
        first, *others = row
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=False)]
        yield "  ".join(cells).rstrip()


def _plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.2f}"
