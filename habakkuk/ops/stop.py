"""The wish to end: Ctrl+C, SIGTERM, or the terminal's closing."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType

from habakkuk.core.errors import HabakkukError


class Stopped(HabakkukError):
    """Raised where a start-up notices that it is not wanted any more."""


class StopSignal:
    """Counts the wishes to end and wakes whoever waits. Made in the main thread."""

    def __init__(self) -> None:
        """Start with no wish."""
        self.count = 0
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def listen(self) -> None:
        """Take SIGINT, SIGTERM and SIGHUP as wishes to end, and be woken when a child ends."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._wish)
        signal.signal(signal.SIGCHLD, self._wake)

    def _wish(self, _number: int, _frame: FrameType | None) -> None:
        self.request()

    def _wake(self, _number: int, _frame: FrameType | None) -> None:
        try:
            os.write(self._writer, b".")
        except BlockingIOError:
            # The pipe is full of earlier wake-ups: whoever waits is woken anyway.
            return

    def request(self) -> None:
        """Wish to end; a second wish hurries."""
        self.count += 1
        self._wake(0, None)

    @property
    def requested(self) -> bool:
        """Whether somebody wishes to end."""
        return self.count > 0

    @property
    def hurried(self) -> bool:
        """Whether somebody wished so more than once."""
        return self.count > 1

    def check(self) -> None:
        """Raise Stopped when requested."""
        if self.requested:
            raise Stopped("stopped before it was ready")

    def sleep(self, seconds: float) -> None:
        """Sleep, woken early by a wish or by a child's end."""
        ready, _, _ = select.select([self._reader], [], [], max(0.0, seconds))
        if ready:
            os.read(self._reader, 4096)

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._reader)
        os.close(self._writer)
