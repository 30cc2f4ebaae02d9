"""Commands in a file: blocks of a reason and a command, parted by lines of ===."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "hardline"


@dataclass(frozen=True)
class Case:
    """One command and what it shows."""

    reason: str
    command: str


def commands(name: str) -> list[Case]:
    """Return the commands of a file; lines before the first reason that begin with # are not."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    body = text.partition("\n")[2]
    blocks = (block.strip("\n").partition("\n") for block in body.split("\n===\n"))
    return [Case(reason, command) for reason, _, command in blocks]
