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
_BAD = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD."""
    return _BAD.sub(REPLACEMENT, text)


def clean_json(value: Any) -> Any:
    """Return a copy of a JSON value whose strings and keys are clean.

    Raises Invalid on NaN and infinities, which JSON does not have.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise Invalid("a number in the JSON is not finite")
    if isinstance(value, dict):
        return {clean(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return value


def shorten(text: str, limit: int) -> str:
    """Return the first line of `text`, at most `limit` characters, with an ellipsis when cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
