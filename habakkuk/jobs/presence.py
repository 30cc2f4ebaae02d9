"""Show that this process lives, and hear what is for it.

One connection holds an advisory lock that PostgreSQL drops within milliseconds of a kill -9, and
listens for cancellations (and wake-ups, when the broker is away).
"""

from __future__ import annotations

import hashlib
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database
from habakkuk.jobs.loop import Loop
from habakkuk.jobs.store.line import CANCEL_CHANNEL, WAKE_CHANNEL, Line, open_line
from habakkuk.jobs.store.signals import read_wake

_log = get_logger("jobs.presence")
_TICK_SECONDS = 1.0
_TICKS_PER_CHECK = 5
_RETRY_SECONDS = 0.5


def random_lock() -> int:
    """Return a number for a presence lock: not the process id, which containers share."""
    return secrets.randbelow(2**31 - 1) + 1


def host_number() -> int:
    """Return the number of this host's probe lock."""
    digest = hashlib.sha256(socket.gethostname().encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


@dataclass(frozen=True)
class Ears:
    """Who is told what. `tick` is called about once a second while the line is open."""

    held: Callable[[], None]
    lost: Callable[[], None]
    cancelled: Callable[[str], object]
    woken: Callable[[str, str], object]
    tick: Callable[[], object]


class Presence:
    """The thread that holds the line and takes it up again whenever it breaks."""

    def __init__(
        self,
        database: Database,
        number: int,
        ears: Ears,
        claim: Callable[[Line], bool] | None = None,
    ) -> None:
        """Prepare; `claim` takes further locks and may refuse the line."""
        self._database = database
        self._number = number
        self._ears = ears
        self._claim = claim
        self._held = threading.Event()
        self._loop = Loop("presence", self._hold)

    @property
    def held(self) -> bool:
        """Whether the lock is held as far as this process knows."""
        return self._held.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def wait_held(self, seconds: float) -> bool:
        """Wait for the lock; False when the time was over first."""
        return self._held.wait(seconds)

    def stop(self) -> None:
        """Close the line: from now on this process counts as gone."""
        self._loop.stop()

    def _hold(self) -> float:
        try:
            with open_line(self._database, "habakkuk presence") as line:
                line.listen()
                if not line.hold_presence(self._number) or not self._claimed(line):
                    # The server has not yet noticed that the old line is down.
                    return _RETRY_SECONDS
                self._held.set()
                self._ears.held()
                self._hear(line)
        finally:
            if self._held.is_set():
                self._held.clear()
                self._ears.lost()
            self._ears.tick()
        return 0.0

    def _claimed(self, line: Line) -> bool:
        return self._claim is None or self._claim(line)

    def _hear(self, line: Line) -> None:
        ticks = 0
        pause = 0.0
        while not self._loop.stopping:
            for channel, payload in line.wait(pause):
                self._pass_on(channel, payload)
            ticks += 1
            pause = _TICK_SECONDS
            if ticks % _TICKS_PER_CHECK == 0:
                line.check()
                # What came with the answer is read already: a wait would not see it arrive.
                pause = 0.0
            self._ears.tick()

    def _pass_on(self, channel: str, payload: str) -> None:
        if channel == CANCEL_CHANNEL:
            self._ears.cancelled(payload)
        elif channel == WAKE_CHANNEL:
            self._ears.woken(*read_wake(payload))
