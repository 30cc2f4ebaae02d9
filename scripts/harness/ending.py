"""How a program that started others ends early: once, and with all that it started."""

from __future__ import annotations

import signal
import sys
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# What a shell reports of a program that a signal ended.
_BY_SIGNAL = 128


def end_cleanly_when_told() -> None:
    """Let Ctrl+C and SIGTERM leave through every `with`; the exit code is the shell's own."""
    for number in _SIGNALS:
        signal.signal(number, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    # Whoever presses Ctrl+C again must not cut short what ends the others.
    for one in _SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(_BY_SIGNAL + number)
