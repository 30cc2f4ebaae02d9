"""What `up` says to the person in front of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

PATIENT_SECONDS = 1.0
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Console:
    """Lines on a terminal or in a log."""

    def __init__(self, out: TextIO, *, colour: bool) -> None:
        """Write to `out`; `colour` when it is a terminal and nobody set NO_COLOR."""
        self._out = out
        self._colour = colour
        self._lock = threading.Lock()

    def say(self, line: str = "") -> None:
        """Write one line at once."""
        with self._lock:
            self._out.write(f"{line}\n")
            self._out.flush()

    def heading(self, line: str) -> None:
        """Write a line that stands out."""
        self.say(f"{_BOLD}{line}{_PLAIN}" if self._colour else line)

    def table(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write names and values in two columns; an empty name continues the row above."""
        width = max(len(name) for name, _ in rows) + 2
        for name, value in rows:
            shown = name.ljust(width)
            self.say(f"  {_DIM}{shown}{_PLAIN}{value}" if self._colour else f"  {shown}{value}")

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Name what is being done, but only when it takes longer than a second."""
        timer = threading.Timer(PATIENT_SECONDS, self.say, [f"{what} …"])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
