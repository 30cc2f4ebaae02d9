"""Read lines at a terminal with a look at the world in between: `input` cannot be withdrawn."""

from __future__ import annotations

import os
import select
import termios

_MOST = 65_536


class Keyboard:
    """The terminal behind a descriptor. It stays in line mode: nothing is to be restored."""

    def __init__(self, descriptor: int) -> None:
        """Read from `descriptor`, which is a terminal."""
        self._descriptor = descriptor

    def forget(self) -> None:
        """Drop what was typed before the question was there: it cannot be its answer."""
        termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def line(self, seconds: float) -> str | None:
        """Return a line without the white space around it, None when none came in time.

        Raises EOFError on Ctrl+D and KeyboardInterrupt on Ctrl+C.
        """
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if not ready:
            return None
        typed = os.read(self._descriptor, _MOST)
        if not typed:
            raise EOFError
        return typed.decode("utf-8", "replace").strip()
