"""A patch as both written forms give it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What a part of a patch does to its file."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    COPY = "copy"


@dataclass(frozen=True)
class PatchLine:
    """One line of a hunk: " " stays, "-" goes, "+" comes. `raw` has its line end, if it has one."""

    kind: str
    raw: str


@dataclass(frozen=True)
class Hunk:
    """One place to change, found by its text.

    `label` names it to the model. `start` is the index (from 0) at which a header says that its old
    lines begin. `anchors` are lines that stand before it, the outer ones first. `at_end`: it must
    reach the end of the file.
    """

    label: str
    lines: tuple[PatchLine, ...]
    start: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [line.raw for line in self.lines if line.kind != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that stand there afterwards."""
        return [line.raw for line in self.lines if line.kind != "-"]


@dataclass(frozen=True)
class FilePatch:
    """What happens to one file. `target` is where it goes, or the copy; None leaves it in place.

    `executable` sets or takes the right to run it; `exact` means that a removal must name all of
    the file's lines.
    """

    action: Action
    path: str
    hunks: tuple[Hunk, ...] = ()
    target: str | None = None
    executable: bool | None = None
    exact: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that it touches."""
        return (self.path,) if self.target is None else (self.path, self.target)
