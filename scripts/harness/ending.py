"""How a program that started others ends early: once, and with all that it started."""

from __future__ import annotations

import signal
import sys
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# A finalizer swallows what is raised in it: wait until it is over.
_FINALIZER = "__del__"
_AGAIN_SECONDS = 0.02
# What a shell reports of a program that a signal ended.
_BY_SIGNAL = 128


def end_cleanly_when_told() -> None:
    """Let Ctrl+C and SIGTERM leave through every `with`; the exit code is the shell's own."""
    for number in _SIGNALS:
        signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    # Whoever presses Ctrl+C again must not cut short what ends the others.
    for one in _SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    if _in_finalizer(frame):
        signal.signal(signal.SIGALRM, lambda _, now: _leave(number, now))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        return
    sys.exit(_BY_SIGNAL + number)


def _in_finalizer(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == _FINALIZER:
            return True
        frame = frame.f_back
    return False
