"""How things are printed: aligned text for people, one JSON object for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

# C0 and C1 controls but tab and line feed, and what turns the direction of text around: other
# people's words must not move the cursor, change colours or show in another order than stored.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))


def output_option(function: Function) -> Function:
    """Add `--output text|json`, given to the command as `output`."""
    choice = click.Choice(["text", "json"])
    option = click.option(
        "-o", "--output", type=choice, default="text", help="Text for people, JSON for programs."
    )
    return option(function)


def print_json(**fields: Any) -> None:
    """Print one JSON object with the version of its form; a terminal may show it, too."""
    text = json.dumps({"version": 1, **fields}, ensure_ascii=False, default=_json)
    click.echo(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def _json(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def visible(text: str) -> str:
    """Return text with control and direction characters shown as escapes."""
    return _UNSAFE.sub(_escaped, text.replace("\r\n", "\n"))


def one_line(text: str, width: int = 60) -> str:
    """Return text on one line of at most `width` characters."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their heads, in columns."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in [list(heads), *cells]:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def print_fields(fields: Mapping[str, str], indent: str = "") -> None:
    """Print names and values in two columns; further lines of a value stand below its first."""
    width = max(map(len, fields), default=0) + 2
    for name, value in fields.items():
        first, *rest = visible(value).split("\n")
        click.echo(f"{indent}{name.ljust(width)}{first}".rstrip())
        for line in rest:
            click.echo(f"{indent}{' ' * width}{line}".rstrip())


def span(since: datetime | None, now: datetime | None = None) -> str:
    """Return how much time has passed, in one unit; a dash when nothing began."""
    if since is None:
        return "–"
    seconds = max(0, ((now or datetime.now(UTC)) - since).total_seconds())
    unit, size = next(((name, size) for name, size in _UNITS if seconds >= size), ("s", 1))
    return f"{int(seconds // size)} {unit}"


def ago(moment: datetime | None) -> str:
    """Return how long ago it was; a dash for never."""
    return "–" if moment is None else f"{span(moment)} ago"


def local_time(moment: datetime | None) -> str:
    """Return a moment in this machine's zone; a dash for never."""
    return "–" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode-escape").decode("ascii")
