"""What is known of a text: its characters, and marks for what is not known or does not count.

A value is a str. Characters that were quoted, and so mean nothing to a shell, stand as marks of
their own, which `plain` turns back.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence

from habakkuk.core.errors import ToolError

# Unicode keeps these code points for a program's own use: no text that is meant holds them.
UNKNOWN = "\ufdd0"  # any text
DOWNLOADED = "\ufdd1"  # any text, of a host that is not this machine
SPLIT = "\ufdd2"  # the end of a field that an unquoted variable made
EVERY = "\ufdd4"  # the name of each file below a folder in turn, as find gives them
BLANKS = " \t\n"
# The home folder of whoever runs the command.
HOME = "/home/\ufdd3"
_QUOTED = "*?[]{},~"
_MARKS = "\ufde0\ufde1\ufde2\ufde3\ufde4\ufde5\ufde6\ufde7"
_HIDE = str.maketrans(_QUOTED, _MARKS)
_SHOW = str.maketrans(_MARKS, _QUOTED)
_OURS = re.compile("[\x00\ufdd0-\ufdef]")
_RANGE = re.compile(r"-?\w+\.\.-?\w+(\.\.-?\w+)?")
_MOST = 256  # fields of one word
_LONGEST = 200_000


class TooInvolved(ToolError):
    """The command cannot be checked in the time and room that there is."""


def clean(script: str) -> str:
    """Return a script without NUL and the characters that are marks here."""
    return _OURS.sub("\N{REPLACEMENT CHARACTER}", script)


def quoted(text: str) -> str:
    """Return text that a shell takes as it is."""
    return text.translate(_HIDE)


def plain(value: str) -> str:
    """Return a value as the program gets it; what is unknown stays marked."""
    return value.translate(_SHOW)


def known(value: str) -> bool:
    """Whether every character of a value is known."""
    return UNKNOWN not in value and DOWNLOADED not in value


def joined(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return every pair of alternatives put together. Raises TooInvolved when they are too many."""
    if len(first) * len(second) > _MOST:
        raise TooInvolved("the command leaves too much open to be checked")
    made = [one + other for one in first for other in second]
    if any(len(text) > _LONGEST for text in made):
        raise TooInvolved("the command makes texts that are too long to be checked")
    return list(dict.fromkeys(made))


def split_of(value: str, signs: str = BLANKS) -> str:
    """Return what an unquoted variable becomes: blanks end fields, or the signs that IFS names."""
    signs = signs if known(signs) else BLANKS
    return re.sub(f"[{re.escape(signs)}]+", SPLIT, value) if signs else value


def fields(value: str) -> list[str]:
    """Return the fields of a word: braces opened, then cut where variables ended fields."""
    opened = braces(value)
    return [part for one in opened for part in one.split(SPLIT) if part or SPLIT not in one]


def braces(value: str) -> list[str]:
    """Return what brace expansion makes; of a range only that it is something."""
    done: list[str] = []
    left = [value]
    while left:
        text = left.pop(0)
        span = _inner(text)
        if span is None:
            done.append(text)
        else:
            start, end, parts = span
            left = [text[:start] + part + text[end:] for part in parts] + left
        if len(done) + len(left) > _MOST:
            raise TooInvolved("the command has more braces than can be checked")
    return done


def _inner(text: str) -> tuple[int, int, list[str]] | None:
    """Return the first innermost pair of braces that means something, and its parts."""
    for found in re.finditer(r"(?<!\$)\{([^{}]*)\}", text):
        inside = found[1]
        if "," in inside:
            return found.start(), found.end(), inside.split(",")
        if _RANGE.fullmatch(inside):
            return found.start(), found.end(), [UNKNOWN]
    return None


def cut(value: str, sign: str, pattern: str) -> str:
    """Return a value without its end (`%`) or beginning (`#`) that fits a pattern, as a shell."""
    if not known(value) or not known(pattern):
        return UNKNOWN
    places = range(len(value) + 1) if sign in {"%%", "#"} else range(len(value), -1, -1)
    for place in places:
        part = value[place:] if sign[0] == "%" else value[:place]
        if fnmatch.fnmatchcase(plain(part), pattern):
            return value[:place] if sign[0] == "%" else value[place:]
    return value


def capped(values: Iterable[str]) -> list[str]:
    """Return alternatives, each once. Raises TooInvolved when they are too many."""
    made = list(dict.fromkeys(values))
    if len(made) > _MOST:
        raise TooInvolved("the command leaves too much open to be checked")
    return made
