"""Read the `*** Begin Patch` form."""

from __future__ import annotations

import re
from collections.abc import Sequence

from habakkuk.core.errors import ToolError
from habakkuk.tools.patches.types import Action, FilePatch, Hunk, PatchLine

BEGIN, END = "*** Begin Patch", "*** End Patch"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: *(\S.*?)\s*")
_MOVE = re.compile(r"\*\*\* Move to: *(\S.*?)\s*")
_NO_HEAD = (
    "is none of '*** Add File: ', '*** Update File: ', '*** Delete File: ' and '*** End Patch'"
)
_END_OF_FILE = "*** End of File"
# A header of the other form, which models put here too: its numbers say where to look.
_NUMBERED = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+\d+(?:,\d+)? @@.*")


def read_begin(lines: Sequence[str]) -> list[FilePatch]:
    """Return the parts of a patch, given as lines without line ends.

    Raises ToolError that says which line of the patch cannot be read.
    """
    return _Reader(lines).read()


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = next(n for n, line in enumerate(lines) if line.rstrip() == BEGIN) + 1

    def read(self) -> list[FilePatch]:
        parts: list[FilePatch] = []
        while True:
            line = self._peek()
            if line is None:
                raise ToolError(f"the patch does not end with {END!r}; is a part of it missing?")
            if line.rstrip() == END:
                return parts
            self._at += 1
            if not line.strip():
                continue
            head = _FILE.fullmatch(line)
            if head is None:
                raise self._fault(_NO_HEAD)
            parts.append(self._part(head[1], head[2]))

    def _part(self, verb: str, path: str) -> FilePatch:
        if verb == "Add":
            return FilePatch(Action.ADD, path, self._content())
        if verb == "Delete":
            return FilePatch(Action.DELETE, path)
        target = None
        move = _MOVE.fullmatch(self._peek() or "")
        if move is not None:
            self._at += 1
            target = move[1]
        hunks = self._hunks()
        if not hunks and target is None:
            raise self._fault(f"leaves {path} as it is: there is no hunk", back=0)
        return FilePatch(Action.UPDATE, path, hunks, target)

    def _content(self) -> tuple[Hunk, ...]:
        lines: list[PatchLine] = []
        while (line := self._peek()) is not None and not line.startswith("*** "):
            self._at += 1
            if line.startswith("+"):
                lines.append(PatchLine("+", line[1:] + "\n"))
            elif line.strip():
                raise self._fault("begins with no '+', as every line of an added file does")
        return (Hunk("", tuple(lines), start=0),) if lines else ()

    def _hunks(self) -> tuple[Hunk, ...]:
        hunks: list[Hunk] = []
        while (line := self._peek()) is not None and not self._is_head(line):
            if not line.strip():
                # Between two hunks; one inside of a hunk is read with it.
                self._at += 1
                continue
            hunks.append(self._hunk())
        return tuple(hunks)

    def _hunk(self) -> Hunk:
        label, start, anchors = "", None, []
        while (line := self._peek()) is not None and line.startswith("@@"):
            self._at += 1
            label = line.rstrip()
            numbered = _NUMBERED.fullmatch(label)
            text = line[2:].strip().removesuffix("@@").strip()
            if numbered is not None:
                start = max(int(numbered[1]) - 1, 0)
            elif text and text != "...":
                anchors.append(text)
        lines = self._body()
        if not lines:
            raise self._fault("stands where the lines of a hunk should be", back=0)
        at_end = self._ends()
        return Hunk(label, lines, start, tuple(anchors), at_end)

    def _body(self) -> tuple[PatchLine, ...]:
        lines: list[PatchLine] = []
        # Empty lines are context, but those at the end only part a hunk from the next.
        empty = 0
        while (line := self._peek()) is not None:
            if line.startswith(("@@", "*** ")):
                break
            self._at += 1
            if not line:
                empty += 1
            elif line[0] in " +-":
                lines += [PatchLine(" ", "\n")] * empty
                lines.append(PatchLine(line[0], line[1:] + "\n"))
                empty = 0
            elif line.startswith("\\"):
                last = lines[-1:]
                lines[-1:] = [PatchLine(one.kind, one.raw.removesuffix("\n")) for one in last]
            else:
                raise self._fault("begins with none of ' ', '+', '-' and '@@'")
        return tuple(lines)

    def _ends(self) -> bool:
        line = self._peek()
        if line is not None and line.rstrip() == _END_OF_FILE:
            self._at += 1
            return True
        return False

    def _is_head(self, line: str) -> bool:
        return line.rstrip() == END or _FILE.fullmatch(line) is not None

    def _peek(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _fault(self, what: str, back: int = 1) -> ToolError:
        number = self._at + 1 - back
        line = self._lines[number - 1] if number <= len(self._lines) else ""
        return ToolError(f"line {number} of the patch {what}: {line[:200]!r}")
