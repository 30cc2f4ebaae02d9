"""Put the hunks of one file on its text, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from habakkuk.core.errors import ToolError
from habakkuk.tools.patches.locate import LEVELS, LOOSEST, Image, detach_mark, without_end
from habakkuk.tools.patches.types import Hunk

_SHOWN = 300


@dataclass(frozen=True)
class Applied:
    """A new text, and how many lines came and went."""

    text: str
    added: int
    removed: int


@dataclass(frozen=True)
class _Place:
    """Where a hunk's old lines stand, and how strictly they were compared."""

    at: int
    level: int


def apply_hunks(text: str, hunks: Sequence[Hunk], path: str, check: Callable[[], None]) -> Applied:
    """Return the text with every hunk put on it.

    `check` is called all the while and may raise. Raises ToolError that names the first hunk that
    does not apply and, when a part of it matched, the first line that differs.
    """
    mark, body = detach_mark(text)
    if mark and any(line.startswith(mark) for hunk in hunks for line in hunk.old):
        mark, body = "", text
    work = _Work(Image(body, check), path, len(hunks))
    for number, hunk in enumerate(hunks, 1):
        check()
        work.put(hunk, number)
    return Applied(mark + "".join(work.image.lines), work.added, work.removed)


class _Work:
    """One text and the hunks that were put on it so far."""

    def __init__(self, image: Image, path: str, count: int) -> None:
        self.image = image
        self.added = self.removed = 0
        self._path = path
        self._count = count
        self._cursor = 0
        # By how much the places that headers name are off, after the hunks before.
        self._drift = 0

    def put(self, hunk: Hunk, number: int) -> None:
        """Find one hunk's place and change it."""
        old = hunk.old
        place = self._locate(hunk, old) if old else self._bare(hunk)
        if place is None:
            raise ToolError(self._miss(hunk, old, number))
        region = self.image.lines[place.at : place.at + len(old)]
        lines, marks = _replaced(hunk, region, self._style(hunk, region, place.level))
        keep_open = self._stays_open(hunk, place.at + len(old))
        if hunk.start is not None:
            self._drift = place.at - hunk.start + len(lines) - len(old)
        self.image.replace(place.at, len(old), lines, marks)
        self._cursor = place.at + len(lines)
        self._mend_ends(place.at, len(lines), keep_open=keep_open)
        self.added += sum(line.kind == "+" for line in hunk.lines)
        self.removed += sum(line.kind == "-" for line in hunk.lines)

    def _locate(self, hunk: Hunk, old: list[str]) -> _Place | None:
        start = self._after_anchors(hunk)
        if start is None:
            return None
        expected = start if hunk.start is None else hunk.start + self._drift
        for at in self._likely(hunk, old, expected):
            if self.image.matches(old, at):
                return _Place(at, 0)
        for level in range(len(LEVELS)):
            found = self.image.find(old, level)
            if hunk.at_end:
                found = [at for at in found if at + len(old) == len(self.image.lines)]
            for strictly in (True, False):
                free = self.image.free(found, len(old), strictly=strictly)
                if free:
                    return _Place(_nearest(free, expected, numbered=hunk.start is not None), level)
        return None

    def _likely(self, hunk: Hunk, old: list[str], expected: int) -> Iterable[int]:
        """Yield the places to try before all others.

        Context on one side only means that the text began or ended there: `git apply` and `patch`
        look nowhere else then.
        """
        if hunk.start is None:
            return
        first, last = hunk.lines[0].kind, hunk.lines[-1].kind
        if first == " " and last != " ":
            yield len(self.image.lines) - len(old)
        if hunk.start == 0:
            yield 0
        yield expected

    def _after_anchors(self, hunk: Hunk) -> int | None:
        """Return the index from which a hunk is looked for, None when an anchor is missing."""
        start = self._cursor
        for anchor in hunk.anchors:
            found = self._anchor(anchor, start)
            if found is None:
                return None
            start = found
        return start

    def _anchor(self, anchor: str, start: int) -> int | None:
        """Return where a line stands, from `start` on first; else one that begins like it."""
        self.image.check()
        wanted = anchor.strip()
        keys = self.image.keys(LOOSEST)
        order = [*range(start, len(keys)), *range(start)]
        alike = (index for index in order if keys[index] == wanted)
        begun = (index for index in order if keys[index].startswith(wanted))
        return next(alike, next(begun, None))

    def _bare(self, hunk: Hunk) -> _Place | None:
        """Return where a hunk without old lines goes: where it says, else below its anchor."""
        end = len(self.image.lines)
        if hunk.at_end:
            return _Place(end, 0)
        if hunk.start is not None:
            at = hunk.start + self._drift
            return _Place(at, 0) if 0 <= at <= end else None
        if not hunk.anchors:
            return _Place(end, 0)
        start = self._after_anchors(hunk)
        return None if start is None else _Place(start + 1, 0)

    def _style(self, hunk: Hunk, region: Sequence[str], level: int) -> bool | None:
        """Whether new lines get a carriage return, lose it, or (None) are taken as written."""
        written = [line.raw.endswith("\r\n") for line in hunk.lines]
        if not region:
            crlf = bool(self.image.lines) and self.image.lines[0].endswith("\r\n")
            return True if crlf and not any(written) else None
        if level == 0:
            return None
        crlf = any(line.endswith("\r\n") for line in region)
        if crlf:
            return None if any(written) else True
        return False if all(written) else None

    def _stays_open(self, hunk: Hunk, end: int) -> bool:
        """Whether the file's last line has no line end, and the patch says nothing of it."""
        lines = self.image.lines
        if end != len(lines) or not lines or lines[-1].endswith("\n"):
            return False
        return all(line.raw.endswith("\n") for line in hunk.lines)

    def _mend_ends(self, at: int, count: int, *, keep_open: bool) -> None:
        """Give every line but the last one its end; take the last one's when the file had none."""
        lines = self.image.lines
        for index in range(max(at - 1, 0), min(at + count, len(lines) - 1)):
            if not lines[index].endswith("\n"):
                end = "\r\n" if lines[0].endswith("\r\n") else "\n"
                self._set(index, lines[index] + end)
        if keep_open and lines:
            self._set(len(lines) - 1, without_end(lines[-1]))

    def _set(self, index: int, line: str) -> None:
        self.image.replace(index, 1, [line], bytes(self.image.marks[index : index + 1]))

    def _miss(self, hunk: Hunk, old: list[str], number: int) -> str:
        which = f"hunk {number} of {self._count}" if self._count > 1 else "the hunk"
        label = f" ({hunk.label})" if hunk.label else ""
        return f"{self._path}: {which}{label} does not apply: {self._why(hunk, old)}"

    def _why(self, hunk: Hunk, old: list[str]) -> str:
        for anchor in hunk.anchors:
            if self._anchor(anchor, 0) is None:
                return f"the line after @@ does not occur in the file: {_shown(anchor)}"
        if not old:
            return "the file has fewer lines than its header says"
        hint = " The lines that it would leave are there: is it applied already?"
        after = hint if self.image.find(hunk.new, 1) else ""
        partly = self.image.nearest_miss(old)
        if partly is None:
            return f"its first line does not occur in the file: {_shown(old[0])}.{after}"
        if partly.lines == len(old):
            if hunk.at_end:
                return f"its lines stand at line {partly.at + 1}, not at the end of the file"
            return f"its lines stand only where an earlier hunk changed the file.{after}"
        return self._difference(old, partly.at, partly.lines) + after

    def _difference(self, old: list[str], at: int, matched: int) -> str:
        line = at + matched
        count = "first line matches" if matched == 1 else f"first {matched} lines match"
        there = "ends there"
        if line < len(self.image.lines):
            there = f"has {_shown(self.image.lines[line])}"
        return (
            f"its {count} at line {at + 1}, but then line {line + 1} differs: the patch has"
            f" {_shown(old[matched])}, the file {there}."
        )


def _replaced(hunk: Hunk, region: Sequence[str], crlf: bool | None) -> tuple[list[str], bytes]:  # noqa: FBT001 - three values, one of them "as written"
    """Return the lines that come, and their marks; what stays is the file's own line."""
    lines: list[str] = []
    marks = bytearray()
    left = iter(region)
    for line in hunk.lines:
        if line.kind == "+":
            lines.append(line.raw if crlf is None else _with_end(line.raw, crlf=crlf))
            marks.append(2)
            continue
        own = next(left)
        if line.kind == " ":
            lines.append(own)
            marks.append(1)
    return lines, bytes(marks)


def _with_end(raw: str, *, crlf: bool) -> str:
    if not raw.endswith("\n"):
        return raw
    return without_end(raw) + ("\r\n" if crlf else "\n")


def _nearest(found: Sequence[int], expected: int, *, numbered: bool) -> int:
    """Return the place nearest to a stated one, a later before an earlier; else the next one."""
    if numbered:
        return min(found, key=lambda at: (abs(at - expected), at < expected))
    return next((at for at in found if at >= expected), found[0])


def _shown(raw: str) -> str:
    text = without_end(raw)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
