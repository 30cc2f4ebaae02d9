"""The one quiet line that says what is going on, gone before anything else is written."""

from __future__ import annotations

from typing import TextIO

from web.cli.terminal.output import one_line


class Progress:
    """A line on stderr that is replaced in place; nothing at all when `shown` is False."""

    def __init__(self, err: TextIO, *, shown: bool) -> None:
        """Write to `err`, which is a terminal when `shown`."""
        self._err = err
        self._shown = shown
        self._width = 0
        self._line = ""

    def say(self, what: str) -> None:
        """Show what is going on now."""
        line = one_line(what)
        if not self._shown or line == self._line:
            return
        self._write("\r" + line.ljust(self._width))
        self._width, self._line = len(line), line

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width, self._line = 0, ""

    def note(self, sentence: str) -> None:
        """Write a sentence that stays, on a terminal or not."""
        self.clear()
        self._write(sentence + "\n")

    def _write(self, text: str) -> None:
        self._err.write(text)
        self._err.flush()
