"""What is searched for, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_RESULTS = 2_000
LONGEST_LINE = 300
LARGEST_FILE = 5_000_000
MOST_FILES = 200_000
SECONDS = 60


@dataclass(frozen=True)
class Query:
    """A regular expression and where to look; `path` leads from the workspace on, "." is all."""

    pattern: str
    path: str = "."
    glob: str | None = None
    ignore_case: bool = False
    files_only: bool = False
    most: int = 200


def cut(line: str) -> str:
    """Return a line as it is shown, its indentation kept."""
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…"


@dataclass(frozen=True)
class Match:
    """A line that matches; number 0 and no text stand for a file alone."""

    path: str
    number: int = 0
    text: str = ""


@dataclass(frozen=True)
class Results:
    """Matches in the order of paths, whether there are more, and what a reader should know."""

    matches: Sequence[Match]
    more: bool = False
    notes: Sequence[str] = field(default=())
