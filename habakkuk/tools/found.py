"""The line that makes tools callable: written by the tools that find others, read back later.

It stands in the transcript, so that what was found stays callable over restarts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The tools whose results may hold the line; in another's it is text like any other.
FINDERS = ("tool_search", "tool_describe")
# The toolset that they are in.
FINDING = "finding"
_LINE = re.compile(r"\[callable now: ([^\]\n]*)\]")


def callable_now(names: Sequence[str]) -> str:
    """Return the line that names tools."""
    return f"[callable now: {', '.join(names)}]"


def named_in(result: str) -> list[str]:
    """Return the tools that the last line of a result names."""
    match = _LINE.fullmatch(result.rstrip().rpartition("\n")[2])
    return match[1].split(", ") if match else []
