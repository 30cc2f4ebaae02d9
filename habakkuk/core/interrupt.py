"""The one way to stop work in another thread: a signal that also runs what frees it.

A blocked read does not see a flag. So whoever blocks registers how to be freed (shut the
socket down, kill the process group), and a trip runs it at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

from habakkuk.core.errors import HabakkukError

# How long a wait for others does not notice that it was tripped at most.
_LOOK_SECONDS = 0.1


class Reason(IntEnum):
    """Why work stops; a higher one replaces a lower one.

    STOPPING: this process ends, the work goes on elsewhere. CANCELLED: a person stopped it.
    LEASE_LOST: another worker owns it; nothing may be written any more.
    """

    STOPPING = 1
    CANCELLED = 2
    LEASE_LOST = 3


class Interrupted(HabakkukError):
    """Raised where interrupted work notices it."""

    def __init__(self, reason: Reason) -> None:
        """Keep the reason; it decides what may still be written."""
        super().__init__(f"interrupted: {reason.name.lower()}")
        self.reason = reason


class Interrupt:
    """One per running job. Thread-safe."""

    def __init__(self) -> None:
        """Start untripped."""
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._reason: Reason | None = None
        self._actions: dict[int, Callable[[], None]] = {}
        self._next = 0

    @property
    def reason(self) -> Reason | None:
        """Why it was tripped, None while it was not."""
        return self._reason

    def trip(self, reason: Reason) -> None:
        """Stop the work for this reason and free whatever blocks in it."""
        with self._lock:
            if self._reason is not None and self._reason >= reason:
                return
            self._reason = reason
            actions = list(self._actions.values())
        self._event.set()
        for action in actions:
            action()

    def check(self) -> None:
        """Raise Interrupted when tripped."""
        if self._reason is not None:
            raise Interrupted(self._reason)

    def wait(self, seconds: float) -> bool:
        """Sleep up to `seconds`; True as soon as it is tripped."""
        return self._event.wait(seconds)

    @contextmanager
    def holding(self, room: threading.Lock | threading.Semaphore) -> Iterator[None]:
        """Hold a lock or a place in a room; raises Interrupted when tripped while others do."""
        while not room.acquire(timeout=_LOOK_SECONDS):
            self.check()
        try:
            yield
        finally:
            room.release()

    @contextmanager
    def freeing(self, action: Callable[[], None]) -> Iterator[None]:
        """Run `action` when tripped inside this block; at once when it already is.

        `action` must be quick, must not raise and may run twice, in another thread.
        """
        with self._lock:
            key, self._next = self._next, self._next + 1
            self._actions[key] = action
            tripped = self._reason is not None
        try:
            if tripped:
                action()
            yield
        finally:
            with self._lock:
                self._actions.pop(key, None)
