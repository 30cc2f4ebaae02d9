"""Work out in memory what a patch makes of the files that it names, before any is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from habakkuk.core.errors import ToolError
from habakkuk.tools.patches.apply import apply_hunks
from habakkuk.tools.patches.types import Action, FilePatch
from habakkuk.tools.texts import encode, refuse_binary

_PLAIN, _EXECUTABLE = 0o644, 0o755
_X = 0o111
_R = 0o444


@dataclass(frozen=True)
class Found:
    """A file as it is: its bytes and its mode."""

    data: bytes
    mode: int


@dataclass(frozen=True)
class Plan:
    """What each file becomes (None: it goes), by path, and a line on each for the model."""

    files: dict[str, Found | None]
    lines: list[str]


def plan(
    parts: Sequence[FilePatch], look: Callable[[str], Found | None], check: Callable[[], None]
) -> Plan:
    """Return what the parts make of the files together, the later ones after the earlier.

    `look` gives a file as it is, None where there is none. Raises ToolError; nothing is changed.
    """
    work = _Work(parts, look, check)
    lines = [work.do(part) for part in parts]
    files = work.changed()
    _refuse_nested({path for path, found in files.items() if found is not None})
    return Plan(files, lines)


def _refuse_nested(made: set[str]) -> None:
    """Raise ToolError when one of the files would have to be a folder for another."""
    for path in sorted(made):
        for parent in PurePosixPath(path).parents:
            if str(parent) in made:
                raise ToolError(f"{path}: the patch makes {parent} a file, which is no folder")


class _Work:
    def __init__(
        self,
        parts: Iterable[FilePatch],
        look: Callable[[str], Found | None],
        check: Callable[[], None],
    ) -> None:
        self._look = look
        self._check = check
        self._before: dict[str, Found | None] = {}
        self._now: dict[str, Found | None] = {}
        # Files that change places: each is read as it was, whichever part comes first.
        self._leaving = {p.path for p in parts if p.action is Action.UPDATE and p.target}
        self._arrived: set[str] = set()

    def do(self, part: FilePatch) -> str:
        """Do one part; return a line that says what it did."""
        self._check()
        if part.action is Action.ADD or self._makes(part):
            return self._add(part)
        found = self._source(part)
        if part.action is Action.DELETE:
            return self._delete(part, found)
        text = _text(found.data, part.path)
        applied = apply_hunks(text, part.hunks, part.path, self._check)
        data = _bytes(applied.text) if part.hunks else found.data
        made = Found(data, _mode(found.mode, part.executable))
        if part.target is None:
            self._now[part.path] = made
            return f"M {part.path} (+{applied.added} -{applied.removed})"
        self._move(part, part.target, made)
        letter = "C" if part.action is Action.COPY else "R"
        return f"{letter} {part.path} -> {part.target} (+{applied.added} -{applied.removed})"

    def _makes(self, part: FilePatch) -> bool:
        """Whether a part without old lines speaks of a file that is not there: it makes it."""
        if part.action is not Action.UPDATE or part.target or len(part.hunks) != 1:
            return False
        (hunk,) = part.hunks
        return hunk.start == 0 and not hunk.old and self._current(part.path) is None

    def changed(self) -> dict[str, Found | None]:
        """Return the files that are not what they were."""
        return {path: now for path, now in self._now.items() if now != self._original(path)}

    def _source(self, part: FilePatch) -> Found:
        moves = part.target is not None and part.path in self._arrived
        found = self._original(part.path) if moves else self._current(part.path)
        if found is None:
            raise ToolError(f"{part.path}: there is no such file")
        return found

    def _add(self, part: FilePatch) -> str:
        if self._current(part.path) is not None:
            raise ToolError(f"{part.path}: the patch adds this file, but it is there already")
        if any(hunk.old for hunk in part.hunks):
            raise ToolError(
                f"{part.path}: the patch adds this file, but it has lines of an old one"
            )
        applied = apply_hunks("", part.hunks, part.path, self._check)
        mode = _EXECUTABLE if part.executable else _PLAIN
        self._now[part.path] = Found(_bytes(applied.text), mode)
        return f"A {part.path} (+{applied.added})"

    def _delete(self, part: FilePatch, found: Found) -> str:
        if part.exact and (part.hunks or found.data):
            applied = apply_hunks(_text(found.data, part.path), part.hunks, part.path, self._check)
            if applied.text:
                raise ToolError(
                    f"{part.path}: the patch deletes this file, but it holds lines that the patch"
                    " does not remove"
                )
        self._now[part.path] = None
        return f"D {part.path}"

    def _move(self, part: FilePatch, target: str, made: Found) -> None:
        if self._current(target) is not None and target not in self._leaving - self._arrived:
            raise ToolError(f"{target}: {part.path} cannot go there, the file is there already")
        if part.action is not Action.COPY and part.path not in self._arrived:
            self._now[part.path] = None
        self._now[target] = made
        self._arrived.add(target)

    def _original(self, path: str) -> Found | None:
        if path not in self._before:
            self._before[path] = self._look(path)
        return self._before[path]

    def _current(self, path: str) -> Found | None:
        return self._now[path] if path in self._now else self._original(path)


def _mode(mode: int, executable: bool | None) -> int:  # noqa: FBT001 - None leaves it
    if executable is None:
        return mode
    # Whoever may read it may run it.
    return mode | ((mode & _R) >> 2) if executable else mode & ~_X


def _text(data: bytes, path: str) -> str:
    """Return a file as text; bytes that are no UTF-8 go through as they are."""
    refuse_binary(data, path)
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def checked(parts: Sequence[FilePatch], canonical: Callable[[str], str]) -> list[FilePatch]:
    """Return the parts with each path in one spelling. Raises ToolError on text no file holds."""
    for part in parts:
        for hunk in part.hunks:
            for line in hunk.lines:
                encode(line.raw, f"{part.path}: a line of the patch")
    return [
        replace(
            part,
            path=canonical(part.path),
            target=None if part.target is None else canonical(part.target),
        )
        for part in parts
    ]
