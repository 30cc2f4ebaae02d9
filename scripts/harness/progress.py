"""How the drill and the bench speak while they work."""

from __future__ import annotations

import sys
import time

_PAUSE_SECONDS = 0.3


class Progress:
    """One calm line on stderr, rewritten in place; nothing when nobody watches."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Speak to a terminal only."""
        self._quiet = quiet or not sys.stderr.isatty()
        self._part = ""
        self._said = 0.0

    def begin(self, part: str) -> None:
        """Name what begins."""
        self._part = part
        self.say("starting", hurry=True)

    def say(self, text: str, *, hurry: bool = False) -> None:
        """Say how far it is, at most a few times a second."""
        if not self._quiet and (hurry or time.monotonic() - self._said > _PAUSE_SECONDS):
            self._said = time.monotonic()
            sys.stderr.write(f"\r\033[K{self._part}: {text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if not self._quiet:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
