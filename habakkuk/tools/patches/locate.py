"""Find lines in a text: exactly first, then with less and less regard for whitespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

_Item = TypeVar("_Item")
_BOM = "\ufeff"
# How many lines are looked at between two looks at whether to go on: some milliseconds.
_STRIDE = 10_000


def without_end(raw: str) -> str:
    """Return a line without its line end."""
    return raw.removesuffix("\n").removesuffix("\r")


def _same(raw: str) -> str:
    return raw


# How two lines are compared, the strictest first.
LEVELS: tuple[Callable[[str], str], ...] = (_same, without_end, str.rstrip, str.strip)
LOOSEST = len(LEVELS) - 1


@dataclass(frozen=True)
class Partly:
    """The place where most of the first lines matched, as an index, and how many did."""

    at: int
    lines: int


class Image:
    """The lines of a text while hunks change it, with what earlier hunks have touched.

    Comparing is linear in the text, whatever both hold: lines are looked for as Knuth, Morris and
    Pratt do.
    """

    def __init__(self, text: str, check: Callable[[], None]) -> None:
        """Split the text at line feeds alone; each line keeps its own.

        `check` is called all the while lines are compared, and may raise.
        """
        self.check = check
        self.lines = split(text)
        # 0 untouched, 1 stood in an earlier hunk, 2 came from one.
        self.marks = bytearray(len(self.lines))
        self._keys: dict[int, list[str]] = {}

    def matches(self, wanted: Sequence[str], at: int) -> bool:
        """Whether exactly these lines stand at an index, none of them touched before."""
        end = at + len(wanted)
        if at < 0 or end > len(self.lines) or any(self.marks[at:end]):
            return False
        return self.lines[at:end] == list(wanted)

    def find(self, wanted: Sequence[str], level: int) -> list[int]:
        """Return every index at which these lines stand, at a level of comparing."""
        return [at for at, length in self._scan(wanted, level) if length == len(wanted)]

    def nearest_miss(self, wanted: Sequence[str]) -> Partly | None:
        """Return where most of the first lines match, None when not even one does."""
        best = max(self._scan(wanted, LOOSEST), key=lambda pair: pair[1], default=(0, 0))
        return Partly(*best) if best[1] else None

    def free(self, places: Sequence[int], length: int, *, strictly: bool) -> list[int]:
        """Return the places where earlier hunks left so many lines alone.

        If not `strictly`, the context of hunks may be shared, and what came from one may not.
        """
        marks = self.marks.replace(b"\1", b"\2") if strictly else self.marks
        found: list[int] = []
        # Places rise: what was found from one on holds for the next ones, too.
        touched = -1
        for at in self._looking(places):
            if touched < at:
                touched = marks.find(2, at)
                touched = len(marks) if touched < 0 else touched
            if touched >= at + length:
                found.append(at)
        return found

    def replace(self, at: int, length: int, lines: Sequence[str], marks: bytes) -> None:
        """Put lines in the place of others."""
        end = at + length
        self.lines[at:end] = lines
        self.marks[at:end] = marks
        for level, keys in self._keys.items():
            keys[at:end] = [LEVELS[level](line) for line in lines]

    def keys(self, level: int) -> list[str]:
        """Return the lines as they are compared at a level."""
        if level not in self._keys:
            self._keys[level] = [LEVELS[level](line) for line in self.lines]
        return self._keys[level]

    def _scan(self, wanted: Sequence[str], level: int) -> Iterator[tuple[int, int]]:
        """Yield (index, number of first lines that match there) as matches grow."""
        pattern = [LEVELS[level](line) for line in wanted]
        if not pattern:
            return
        back = self._fallbacks(pattern)
        length = 0
        for index, key in enumerate(self._looking(self.keys(level))):
            while length and (length == len(pattern) or pattern[length] != key):
                length = back[length - 1]
            if pattern[length] == key:
                length += 1
                yield index - length + 1, length

    def _fallbacks(self, pattern: Sequence[str]) -> list[int]:
        """Return for each prefix the length of its longest proper one that is its end too."""
        back = [0] * len(pattern)
        length = 0
        for index in self._looking(range(1, len(pattern))):
            while length and pattern[length] != pattern[index]:
                length = back[length - 1]
            if pattern[length] == pattern[index]:
                length += 1
            back[index] = length
        return back

    def _looking(self, items: Sequence[_Item]) -> Iterator[_Item]:
        """Yield the items, with looks at whether to go on."""
        for number, item in enumerate(items):
            if number % _STRIDE == 0:
                self.check()
            yield item


def split(text: str) -> list[str]:
    """Split at line feeds, which stay; no other character ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def detach_mark(text: str) -> tuple[str, str]:
    """Return the byte order mark that a text begins with, if it does, and the rest."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
