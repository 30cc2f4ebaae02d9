"""Forms of `${...}` that change a value: letters exchanged, a piece of it, small and capital."""

from __future__ import annotations

import re
from collections.abc import Callable

from habakkuk.tools.hardline.values import DOWNLOADED, UNKNOWN, known

# With a pattern or another variable in it nothing is known of what comes out.
_REPLACE = re.compile(r"\$\{(\w+)(//?)([^/}$`\\*?\[]+)(?:/([^}$`\\]*))?\}")
_PIECE = re.compile(r"\$\{(\w+):(\d+|\s-?\d+)(?::(\d+))?\}")
_CASE = re.compile(r"\$\{(\w+)(\^\^?|,,?)\}")
_QUOTES = re.compile(r"[\"']")

Change = Callable[[str], str]


def change(source: str) -> Change | None:
    """Return what a form does to the value of its variable, None when that is not known."""
    found = _REPLACE.fullmatch(source)
    if found is not None:
        return _replacing(_QUOTES.sub("", found[3]), _QUOTES.sub("", found[4] or ""), found[2])
    found = _PIECE.fullmatch(source)
    if found is not None:
        start = int(found[2])
        length = int(found[3]) if found[3] else None
        return lambda value: _piece(value, start, length)
    found = _CASE.fullmatch(source)
    if found is not None:
        return _CASES[found[2]]
    return None


def changed(value: str, made: Change | None) -> str:
    """Return a value after a change; of one that is not known only where it came from."""
    if DOWNLOADED in value:
        return DOWNLOADED
    return made(value) if made is not None and known(value) else UNKNOWN


def _replacing(old: str, new: str, sign: str) -> Change:
    return lambda value: value.replace(old, new, -1 if sign == "//" else 1)


def _piece(value: str, start: int, length: int | None) -> str:
    rest = value[start:]
    return rest if length is None else rest[:length]


_CASES: dict[str, Change] = {
    "^^": str.upper,
    ",,": str.lower,
    "^": lambda value: value[:1].upper() + value[1:],
    ",": lambda value: value[:1].lower() + value[1:],
}
