"""Show a question: exactly what would run, in a form that its own words cannot imitate.

Every line of an argument stands behind a gutter, also where it is too long for the terminal, so
that nothing in it can look like the lines around it.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from habakkuk.agent.approval.types import Approval

_BEGINS = "  | "
_GOES_ON = "  : "
_NARROWEST = 20
# Letters by their category that show as nothing: an approved command must not hide one.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x180B, 0x1810))


def describe(approval: Approval, width: int) -> Iterator[str]:
    """Yield the lines of a question for a terminal of `width` columns.

    What would run comes first, so that the facts stay in sight however long it is.
    """
    yield from _arguments(approval.tool, approval.input, width)
    facts = {
        "Tool": approval.tool,
        "Agent": approval.agent,
        "Folder": approval.folder,
        "Why": approval.why,
    }
    for name, value in facts.items():
        yield f"  {name:<8}{exact(value)}"


def _arguments(tool: str, arguments: Mapping[str, Any], width: int) -> Iterator[str]:
    rest = dict(arguments)
    if tool == "exec" and isinstance(command := rest.pop("command", None), str):
        yield from _behind_gutter(command, width)
        yield ""
    for name, value in rest.items():
        yield f"  {exact(name)}"
        yield from _behind_gutter(_written(value), width)
        yield ""


def _written(value: object) -> str:
    """Return an argument as text; one whose ends would not be seen is quoted.

    Line ends are seen, as a gutter with nothing behind it: nearly every file ends with one.
    """
    if isinstance(value, str) and value and value == value.strip(" "):
        return value
    return json.dumps(value, ensure_ascii=False)


def _behind_gutter(text: str, width: int) -> Iterator[str]:
    room = max(_NARROWEST, width - len(_BEGINS) - 1)
    for line in text.split("\n"):
        gutter = _BEGINS
        for piece in _pieces(exact(line), room):
            yield gutter + piece
            gutter = _GOES_ON


def _pieces(line: str, room: int) -> Iterator[str]:
    """Cut a line into pieces of at most `room` columns, one empty piece for an empty line."""
    begin, used = 0, 0
    for at, char in enumerate(line):
        columns = _columns(char)
        if used + columns > room:
            yield line[begin:at]
            begin, used = at, 0
        used += columns
    yield line[begin:]


def _columns(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def exact(text: str) -> str:
    """Return text on one line with everything that does not show as itself as an escape."""
    return "".join(_escaped(char) if _hides(char) else char for char in text)


def _hides(char: str) -> bool:
    if char == " ":
        return False
    if unicodedata.category(char) in _HIDDEN or char in _BLANK_LETTERS:
        return True
    return any(ord(char) in selectors for selectors in _SELECTORS)


def _escaped(char: str) -> str:
    return char.encode("unicode-escape").decode("ascii")


def seconds_left(expires: datetime | None, now: datetime | None = None) -> float | None:
    """Return how long a question can be answered yet, None without a limit."""
    if expires is None:
        return None
    return max(0.0, (expires - (now or datetime.now(UTC))).total_seconds())


def time_left(expires: datetime | None, now: datetime | None = None) -> str:
    """Return that in words."""
    seconds = seconds_left(expires, now)
    if seconds is None:
        return "no time limit"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s left" if minutes else f"{rest} s left"
