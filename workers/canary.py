"""Prove that this worker still consumes: a message to itself, again and again.

A worker can be alive, connected and answering pings, and yet take nothing. The sweep makes that
harmless; this makes it end, so that its supervisor starts a hearing one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from habakkuk.core.clock import Clock
from habakkuk.jobs.broker import CANARY
from habakkuk.jobs.loop import Loop
from habakkuk.jobs.wake import Producer

SEND_SECONDS = 10.0
DEAF_SECONDS = 30.0


class Canary:
    """Sends a task to a queue that only this worker serves, and counts the silence after it.

    `expected` says whether a message could be taken at all: a full worker takes none.
    """

    def __init__(
        self,
        producer: Producer,
        queue: str,
        expected: Callable[[], bool],
        deaf: Callable[[], None],
        clock: Clock | None = None,
    ) -> None:
        """Prepare; nothing is sent before `start`."""
        self._producer = producer
        self._queue = queue
        self._expected = expected
        self._deaf = deaf
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._unheard_since: float | None = None
        self._loop = Loop("canary", self._tick)

    def start(self) -> None:
        """Start to send."""
        self._loop.start()

    def stop(self) -> None:
        """Send no more."""
        self._loop.stop()
        self._producer.close()

    def seen(self) -> None:
        """Note that the worker took a canary."""
        with self._lock:
            self._unheard_since = None

    def send(self) -> None:
        """Send one, and say so when those before it were not heard for too long."""
        if not self._published() or not self._expected():
            # The broker is away, or the worker has its hands full: silence means nothing.
            self.seen()
            return
        now = self._clock.monotonic()
        with self._lock:
            if self._unheard_since is None:
                self._unheard_since = now
            deaf = now - self._unheard_since >= DEAF_SECONDS
        if deaf:
            self._deaf()

    def _published(self) -> bool:
        try:
            self._producer.send(self._queue, CANARY, [])
        except Exception:  # noqa: BLE001 - whatever the broker's library raises
            return False
        return True

    def _tick(self) -> float:
        self.send()
        return SEND_SECONDS
