"""Take a unified diff apart: its files, what git says of each, and hunks with sound headers.

Models miscount the lines of a hunk, or leave the numbers out. A header that does not fit its lines
is written anew from them, so that the library that reads hunks gets none that it must refuse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from habakkuk.core.errors import ToolError

# Nine digits: a number of any length would be a puzzle for int().
_NUMBERED = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)")
_GIT = "diff --git "
_EXTENDED = (
    "rename from",
    "rename to",
    "copy from",
    "copy to",
    "new file mode",
    "deleted file mode",
    "old mode",
    "new mode",
)
_SIGNATURE = "-- "
_NO_NEWLINE = "\\"


@dataclass(frozen=True)
class RawHunk:
    """A hunk as text: its header as it stood, what that says of the place, and its lines."""

    label: str
    start: int | None
    anchor: str | None
    lines: tuple[str, ...]

    def counted(self) -> list[str]:
        """Return its lines under a header that fits them."""
        old = sum(line[:1] in {"", " ", "-"} for line in self.lines)
        new = sum(line[:1] in {"", " ", "+"} for line in self.lines)
        start = self.start or 0
        return [f"@@ -{start},{old} +{start},{new} @@", *self.lines]


@dataclass
class Section:
    """What the diff says of one file. `said` holds git's own lines by their first words."""

    head: str
    git: bool = False
    source: str | None = None
    target: str | None = None
    said: dict[str, str] = field(default_factory=dict)
    hunks: list[RawHunk] = field(default_factory=list)


def sections(lines: Sequence[str]) -> list[Section]:
    """Return the files of a diff, given as lines without line ends. Raises ToolError."""
    return _Scanner(lines).scan()


class _Scanner:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._found: list[Section] = []

    def scan(self) -> list[Section]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if self._names_follow(self._at):
                self._names()
            elif line.startswith("@@"):
                self._hunk()
            else:
                self._other(line)
                self._at += 1
        return self._found

    def _other(self, line: str) -> None:
        """Take a line outside of hunks: git's headers, or prose around the diff."""
        if line.startswith(_GIT):
            self._found.append(Section(line, git=True))
        elif line == "GIT binary patch" or (
            line.startswith("Binary files ") and line.endswith(" differ")
        ):
            raise ToolError(f"the patch changes a file that is no text: {line}")
        elif self._found and self._found[-1].git and not self._found[-1].hunks:
            for words in _EXTENDED:
                if line.startswith(words + " "):
                    self._found[-1].said[words] = line[len(words) + 1 :]

    def _names_follow(self, at: int) -> bool:
        """Whether "--- old" and "+++ new" stand here, and no removed line that looks like it."""
        if at + 1 >= len(self._lines):
            return False
        return self._lines[at].startswith("--- ") and self._lines[at + 1].startswith("+++ ")

    def _names(self) -> None:
        head = self._lines[self._at]
        last = self._found[-1] if self._found else None
        if last is None or not last.git or last.source is not None or last.hunks:
            last = Section(head)
            self._found.append(last)
        last.source = head[4:]
        last.target = self._lines[self._at + 1][4:]
        self._at += 2

    def _hunk(self) -> None:
        number, label = self._at + 1, self._lines[self._at].rstrip()
        if not self._found or self._found[-1].source is None:
            raise ToolError(
                f"line {number} of the patch begins a hunk, but no '--- file' and '+++ file' stand"
                f" before it: {label[:200]!r}"
            )
        self._at += 1
        found = _NUMBERED.fullmatch(label)
        start, anchor, lines = None, None, None
        if found is not None:
            old, new = int(found[2] or 1), int(found[4] or 1)
            start = int(found[1])
            lines = self._counted(old, new)
        else:
            text = label[2:].removesuffix("@@").strip()
            anchor = text if text and text != "..." else None
        # An index: a hunk without old lines names the line that it comes after.
        lines = self._measured() if lines is None else lines
        if start is not None and any(line[:1] in {"", " ", "-"} for line in lines):
            start = max(start - 1, 0)
        if not lines:
            raise ToolError(f"line {number} of the patch begins a hunk without lines: {label!r}")
        self._found[-1].hunks.append(RawHunk(label, start, anchor, tuple(lines)))

    def _counted(self, old: int, new: int) -> list[str] | None:
        """Take as many lines as the header says; None, and nothing, when they are not a hunk."""
        at = self._at
        while (old or new) and at < len(self._lines):
            kind = self._lines[at].removesuffix("\r")[:1]
            if kind not in {"", " ", "+", "-", _NO_NEWLINE}:
                return None
            old -= kind in {"", " ", "-"}
            new -= kind in {"", " ", "+"}
            if old < 0 or new < 0:
                return None
            at += 1
        if old or new:
            return None
        while at < len(self._lines) and self._lines[at].startswith(_NO_NEWLINE):
            at += 1
        if self._goes_on(at):
            return None
        lines = list(self._lines[self._at : at])
        self._at = at
        return lines

    def _goes_on(self, at: int) -> bool:
        """Whether lines of a hunk stand where its header says that it is over."""
        if at >= len(self._lines) or self._names_follow(at):
            return False
        line = self._lines[at]
        return line[:1] in {"+", " "} or (line[:1] == "-" and line.rstrip() != "--")

    def _measured(self) -> list[str]:
        """Take the lines that look like a hunk's, without empty ones at its end."""
        at = self._at
        while at < len(self._lines) and not self._names_follow(at):
            line = self._lines[at].removesuffix("\r")
            if line[:1] not in {"", " ", "+", "-", _NO_NEWLINE} or line == _SIGNATURE:
                break
            at += 1
        lines = list(self._lines[self._at : at])
        while lines and not lines[-1].removesuffix("\r"):
            lines.pop()
        self._at = at
        return lines
