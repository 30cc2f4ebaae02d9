"""Which parts of a document are asked for: "3", "3-5", "1,4-6", "8-"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from habakkuk.documents.types import Unreadable

LONGEST = 200
_RANGE = re.compile(r"\s*(\d{1,7})\s*(?:(-)\s*(\d{1,7})?)?\s*", re.ASCII)
_FORM = 'write pages as numbers and ranges, such as "3", "3-5" or "1,4-6,8-"'


def check(text: str) -> None:
    """Raise Unreadable when this is no selection, whatever document it is for."""
    _ranges(text)


def chosen(text: str, total: int, unit: str) -> Sequence[int]:
    """Return the numbers that are asked for, each once and in their order; all where none are.

    Raises Unreadable for one that is not there.
    """
    if not text.strip():
        return range(1, total + 1)
    numbers: dict[int, None] = {}
    for first, last in _ranges(text):
        end = total if last is None else last
        highest = max(first, end)
        if highest > total:
            raise Unreadable(f"it has {total} {unit}s; there is no {unit} {highest}")
        numbers |= dict.fromkeys(range(first, end + 1))
    return list(numbers)


def told(numbers: Sequence[int]) -> str:
    """Return numbers as a selection: runs as ranges."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _ranges(text: str) -> list[tuple[int, int | None]]:
    if not text.strip():
        return []
    if len(text) > LONGEST:
        raise Unreadable(_FORM)
    return [_range(piece) for piece in text.split(",")]


def _range(piece: str) -> tuple[int, int | None]:
    match = _RANGE.fullmatch(piece)
    if match is None:
        raise Unreadable(_FORM)
    first = int(match[1])
    if match[2] is None:
        last: int | None = first
    else:
        last = int(match[3]) if match[3] else None
    if first < 1 or (last is not None and last < first):
        raise Unreadable(_FORM)
    return first, last
