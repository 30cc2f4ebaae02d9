"""Clean text at the edge, once.

PostgreSQL cannot hold U+0000 in text or jsonb, UTF-8 cannot encode a lone surrogate, and JSON
has no NaN. One such message or tool output would fail its job for ever.
"""

from __future__ import annotations

import math
import re
from typing import Any

from habakkuk.core.errors import Invalid

REPLACEMENT = "\ufffd"
# What turns the direction of the text around it: a name could show another ending than it has.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_BAD = re.compile("[\x00\ud800-\udfff]")
# What our JSON writer takes: whole numbers of 64 bits, and 254 levels less what stands around it.
_WHOLE = range(-(2**63), 2**64)
_DEEPEST = 200
_MB = 1_000_000


def clean(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD."""
    if text.isascii() and "\x00" not in text:
        # Nearly all of a long transcript, which is looked through at each model call.
        return text
    return _BAD.sub(REPLACEMENT, text)


def clean_json(value: Any) -> Any:
    """Return a copy of a JSON value whose strings and keys are clean, so that it can be stored.

    Raises Invalid on NaN and infinities, which JSON does not have, on whole numbers of more than
    64 bits and on more than 200 levels.
    """
    return _clean_json(value, _DEEPEST)


def _clean_json(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float | int):
        return _checked(value)
    if isinstance(value, dict | list | tuple) and not levels:
        raise Invalid(f"the JSON has more than {_DEEPEST} levels")
    if isinstance(value, dict):
        return {clean(str(key)): _clean_json(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(item, levels - 1) for item in value]
    return value


def _checked(number: float) -> float:
    if isinstance(number, int):
        if number not in _WHOLE:
            raise Invalid("a whole number in the JSON has more than 64 bits")
    elif not math.isfinite(number):
        raise Invalid("a number in the JSON is not finite")
    return number


def shorten(text: str, limit: int) -> str:
    """Return `text` on one line, at most `limit` characters, with an ellipsis when cut.

    For names and titles: marks that turn the direction of what follows are left out.
    """
    line = " ".join(_TURNING.sub("", text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def size_text(size: int) -> str:
    """Return a number of bytes as people say it, such as "2.5 MB"."""
    return f"{size / _MB:.1f} MB" if size >= _MB else f"{-(-size // 1000)} kB"


def utf16_units(text: str) -> int:
    """Return how many units of UTF-16 a text has, as several platforms count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
