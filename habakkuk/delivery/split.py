"""The one splitter: text to messages that a platform takes (cases: K44, K45).

It cuts where a reader expects it: between paragraphs, else lines, else sentences, else words, and
inside a word only when nothing else is left, never inside a grapheme's surrogate or combining
pieces. A fenced block that is cut is closed at the end of a part and opened again in the next.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from habakkuk.channels.contract import Unit

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
_PLACES = ("\n\n", "\n", re.compile(r"[.!?。！？…]\s"), re.compile(r"\s"))
# A break in the first part of the room would make parts that are mostly empty.
_EARLIEST = 0.3
_JOINERS = {"\u200d", "\ufe0f", "\u20e3"}


def length(text: str, unit: Unit) -> int:
    """Return how long the platform takes `text` to be."""
    if unit is Unit.BYTES:
        return len(text.encode())
    if unit is Unit.UTF16:
        return len(text.encode("utf-16-le")) // 2
    return len(text)


def split(text: str, limit: int, unit: Unit = Unit.CHARACTERS) -> list[str]:
    """Return `text` in parts of at most `limit` units; one part, as it is, when it fits.

    Without the fences that were added, and the blanks at the breaks, the parts are the text.
    """
    measure: Callable[[str], int] = lambda part: length(part, unit)  # noqa: E731 - a bound name
    return list(_parts(text, limit, measure))


def _parts(rest: str, limit: int, measure: Callable[[str], int]) -> Iterator[str]:
    opening = ""
    while measure(opening + rest) > limit:
        # The longest closing that the part may need is that of a fence inside it.
        room = limit - measure(opening)
        head = rest[: _cut(rest, room, measure)]
        fence = _open_fence(opening + head)
        closing = f"\n{fence[0]}" if fence else ""
        if closing:
            head = rest[: _cut(rest, room - measure(closing), measure)]
            fence = _open_fence(opening + head)
            closing = f"\n{fence[0]}" if fence else ""
        part = opening + head
        yield part.rstrip("\n") + closing if fence else part.rstrip()
        opening = f"{fence[0]}{fence[1]}\n" if fence else ""
        rest = rest[len(head) :]
        rest = rest.removeprefix("\n") if fence else rest.lstrip("\n ")
        if measure(opening) * 3 > limit:
            # A fence with an endless name is not worth repeating.
            opening = ""
    if (opening + rest).strip() or not opening:
        yield opening + rest


def _cut(text: str, room: int, measure: Callable[[str], int]) -> int:
    """Return where to cut so that the head fits into `room`; at least one character."""
    most = _most(text, max(room, 1), measure)
    for place in _PLACES:
        found = _last(text, place, most)
        if found > most * _EARLIEST:
            return found
    return _between_graphemes(text, most)


def _most(text: str, room: int, measure: Callable[[str], int]) -> int:
    """Return how many characters fit, by halving."""
    low, high = 1, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low


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


def _open_fence(text: str) -> tuple[str, str] | None:
    """Return (marks, name) of the fence that is open at the end of `text`."""
    opened: tuple[str, str] | None = None
    for match in _FENCE.finditer(text):
        marks, name = match[1], match[2]
        if opened is None:
            opened = (marks, name.rstrip())
        elif marks[0] == opened[0][0] and len(marks) >= len(opened[0]) and not name.strip():
            opened = None
    return opened
