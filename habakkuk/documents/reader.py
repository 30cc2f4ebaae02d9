"""Have documents read: each by a process of its own, which ends with the call."""

from __future__ import annotations

import json
from pathlib import Path

from habakkuk.core.interrupt import Interrupt
from habakkuk.core.programs import Bounds
from habakkuk.core.readers import BROKE_OFF, NoAnswer, Readers
from habakkuk.documents.selection import check
from habakkuk.documents.types import Reading, Unreadable

MOST_BYTES = 100_000_000
# Seed, Documents: 400 KB of text at once.
MOST_CHARACTERS = 400_000
_PROGRAM = str(Path(__file__).with_name("program.py"))
_SECONDS = 85.0
# In JSON a character takes twelve bytes at most.
_MOST_ANSWER = 12 * MOST_CHARACTERS + 10_000_000
# As many at once as a small machine has memory for.
_AT_ONCE = 2


class Documents:
    """Reads documents. Thread-safe; others wait while two are read."""

    def __init__(self, program: str = _PROGRAM, seconds: float = _SECONDS) -> None:
        """`program` is what reads, and `seconds` how long it may take; tests have others."""
        self._readers = Readers(program, Bounds(seconds, _MOST_ANSWER), _AT_ONCE)

    def read(self, data: bytes, pages: str, offset: int, interrupt: Interrupt) -> Reading:
        """Return the text of the parts that `pages` asks for, from `offset` on.

        Raises Unreadable, and Interrupted, when the process is dead already.
        """
        check(pages)
        order = {"pages": pages, "offset": offset, "limit": MOST_CHARACTERS}
        try:
            return _reading(self._readers.ask(order, data, interrupt))
        except NoAnswer as error:
            raise Unreadable(str(error)) from error


def _reading(answer: bytes) -> Reading:
    try:
        told = json.loads(answer)
        if "unreadable" in told:
            raise Unreadable(str(told["unreadable"]))
        return Reading(**told)
    except (ValueError, TypeError, RecursionError) as error:
        # Whoever took the child over can answer anything.
        raise Unreadable(BROKE_OFF) from error
