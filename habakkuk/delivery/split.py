"""The one splitter: text to messages that a platform takes (cases: K44, K45).

It cuts where a reader expects it: between paragraphs, else lines, else sentences, else words, and
inside a word only when nothing else is left, never inside a grapheme's surrogate or combining
pieces. A fenced block that is cut is closed at the end of a part and opened again in the next. One
that stands in an item of a list stands at the margin there, since the item is in the part before.
A table that is cut between two rows has its head again in the next part: without it its rows would
be no table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from habakkuk.delivery.heads import before_bare_head, open_head

# Before the marks stands what leads lines of quotes and items of lists.
_ITEM = r"(?:[-*+]|\d{1,9}[.)]) +"
_FENCE = re.compile(rf"^([ >]*(?:{_ITEM})*)(`{{3,}}|~{{3,}})([^`\n]*)$", re.MULTILINE)
_LIST = re.compile(rf"^[ >]*{_ITEM}", re.MULTILINE)
# More blanks than that make a line of code, where no item takes some of them.
_MOST_BLANKS = 3
_PLACES = ("\n\n", "\n", re.compile(r"[.!?。！？…]\s"), re.compile(r"\s"))
# A break in the first part of the room would make parts that are mostly empty.
_EARLIEST = 0.3
_JOINERS = {"\u200d", "\ufe0f", "\u20e3"}


@dataclass(frozen=True)
class _Fence:
    """What opens a block: `lead` stands before its marks, `name` behind them."""

    lead: str
    marks: str
    name: str

    @property
    def quote(self) -> str:
        """What leads each line of the block, of that which is no blank."""
        return self.lead[: self.lead.rfind(">") + 1] + " " if ">" in self.lead else ""

    @property
    def closing(self) -> str:
        """The line that ends the block where it stands: at the margin it would begin another."""
        return f"{self.quote or ' ' * len(self.lead)}{self.marks}"

    @property
    def again(self) -> str:
        """The line that opens the block in another message."""
        return f"{self.quote}{self.marks}{self.name}\n"

    def is_ended_by(self, lead: str, marks: str, name: str) -> bool:
        """Say whether another fence ends the block."""
        same = marks[0] == self.marks[0] and len(marks) >= len(self.marks) and not name.strip()
        plain = not lead.strip(" >")
        return same and plain and len(lead) <= len(self.lead) + _MOST_BLANKS

    def at_the_margin(self, rest: str, *, begins: bool) -> str:
        """Return what follows without the blanks of an item before the lines of the block.

        `begins`: it begins with a line, not within one.
        """
        if not self.lead or self.quote:
            return rest
        ends = (one for one in _FENCE.finditer(rest) if self.is_ended_by(*one.groups()))
        end = next((one.end() for one in ends), len(rest))
        first = "" if begins else rest[:end].partition("\n")[0]
        blanks = re.compile(rf"^ {{1,{len(self.lead)}}}", re.MULTILINE)
        return first + blanks.sub("", rest[len(first) : end]) + rest[end:]


def split(text: str, limit: int, measure: Callable[[str], int] = len) -> list[str]:
    """Return `text` in parts of at most `limit`; one part, as it is, when it fits.

    `measure` is how long the platform takes a part to be, as it sends it: at least one for each
    character that it shows, whatever marks it takes away. Without the fences and heads that were
    added, and the blanks at the breaks and before the lines of a block, the parts are the text.
    """
    return list(_parts(text, limit, measure))


def _parts(rest: str, limit: int, measure: Callable[[str], int]) -> Iterator[str]:
    opening = ""
    # What is far longer is not measured: that may be as much work as sending it.
    while len(opening + rest) > limit * 2 or measure(opening + rest) > limit:
        part, head, fence = _part(opening, rest, limit, measure)
        yield part
        before, rest = opening + head, rest[len(head) :]
        opening = fence.again if fence else open_head(before, rest)
        if fence is None:
            rest = rest.lstrip("\n ")
        else:
            begins = head.endswith("\n") or rest.startswith("\n")
            rest = fence.at_the_margin(rest.removeprefix("\n"), begins=begins)
        if measure(opening) * 3 > limit:
            # A fence with an endless name, or a head of many words, is not worth repeating.
            opening = ""
    if (opening + rest).strip() or not opening:
        yield opening + rest


def _part(
    opening: str, rest: str, limit: int, measure: Callable[[str], int]
) -> tuple[str, str, _Fence | None]:
    """Return the next part, what it took of `rest`, and the fence that it had to close."""
    room = limit - measure(opening)
    while True:
        cut = _cut(rest, room, measure)
        head = before_bare_head(rest[:cut], rest[cut:])
        fence = _open_fence(opening + head)
        part = opening + head
        part = f"{part.rstrip(chr(10))}\n{fence.closing}" if fence else part.rstrip()
        over = measure(part) - limit
        if over <= 0 or room <= 1:
            return part, head, fence
        room = max(1, room - over)


def _cut(text: str, room: int, measure: Callable[[str], int]) -> int:
    """Return where to cut so that the head fits into `room`; at least one character."""
    most = _most(text, max(room, 1), measure)
    for place in _PLACES:
        found = _last(text, place, most)
        if found > most * _EARLIEST:
            return found
    return _between_graphemes(text, most)


def _most(text: str, room: int, measure: Callable[[str], int]) -> int:
    """Return how many characters fit, near enough to the most: measuring may be work."""
    most = min(len(text), room)
    while most > 1 and (size := measure(text[:most])) > room:
        most = max(1, min(most - 1, most * room // size))
    return most


def _last(text: str, place: str | re.Pattern[str], most: int) -> int:
    """Return the end of the last such place within the first `most` characters, 0 without."""
    if isinstance(place, str):
        found = text.rfind(place, 0, most)
        return found + len(place) if found > 0 else 0
    ends = [match.end() for match in place.finditer(text, 0, most)]
    return ends[-1] if ends else 0


def _between_graphemes(text: str, most: int) -> int:
    """Move a cut to the left until it stands before a character that begins something."""
    cut = most
    while cut > 1 and cut < len(text) and (_continues(text[cut]) or text[cut - 1] == "\u200d"):
        cut -= 1
    return cut if cut > 1 else most


def _continues(character: str) -> bool:
    return character in _JOINERS or unicodedata.combining(character) > 0 or _is_modifier(character)


def _is_modifier(character: str) -> bool:
    return "\U0001f3fb" <= character <= "\U0001f3ff"


def _open_fence(text: str) -> _Fence | None:
    """Return the fence that is open at the end of `text`."""
    opened: _Fence | None = None
    for match in _FENCE.finditer(text):
        if opened is not None:
            opened = None if opened.is_ended_by(*match.groups()) else opened
        elif _opens(text, match):
            opened = _Fence(match[1], match[2], match[3].rstrip())
    return opened


def _opens(text: str, match: re.Match[str]) -> bool:
    """Say whether a fence is one: far to the right it has to stand in an item of a list."""
    lead = match[1]
    near = len(lead) <= _MOST_BLANKS or bool(lead.strip())
    return near or _LIST.search(text, 0, match.start()) is not None
