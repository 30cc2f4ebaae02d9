"""What somebody may have meant who wrote a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def advice(written: str, known: Iterable[str], are: str) -> str:
    """Return the nearest of the known names as a question, else all of them after `are`."""
    names = list(known)
    near = difflib.get_close_matches(written, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"{are}: {', '.join(names)}"
