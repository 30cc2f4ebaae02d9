"""Which services rest, shared between processes through Redis, and known to each without it.

Redis only spreads the word. A process keeps what it learned itself, so that without Redis it
still spares a service that has just refused it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from redis import Redis

from habakkuk.core.clock import Clock
from habakkuk.core.redis import PREFIX, RedisAway, RedisGate

_T = TypeVar("_T")
_KEY = f"{PREFIX}rest:"
# As long as a service's own word is believed.
_LONGEST = 3600.0


class SharedCooldowns:
    """Rests on Redis, which model providers and search back-ends keep. Thread-safe."""

    def __init__(self, gate: RedisGate | None, clock: Clock | None = None) -> None:
        """Use the process's gate, of which nothing is asked yet; None: this process alone."""
        self._gate = gate
        self._clock = clock or Clock()
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def resting(self, who: str) -> float:
        """Return for how many seconds yet `who` should not be called; 0 when it may."""
        now, shared = self._clock.monotonic(), self._shared(who)
        with self._lock:
            if shared > 0:
                # So that its answer can end the rest, whoever began it.
                self._until.setdefault(who, now + shared)
            own = self._until.get(who, 0.0) - now
        return max(0.0, own, shared)

    def rest(self, who: str, seconds: float) -> None:
        """Let `who` rest; a longer rest that it already has stays."""
        seconds = min(seconds, _LONGEST)
        milliseconds = int(seconds * 1000)
        if milliseconds <= 0:
            return
        with self._lock:
            until = self._clock.monotonic() + seconds
            self._until[who] = max(until, self._until.get(who, 0.0))

        def spread(client: Redis) -> None:
            key = _KEY + who
            with client.pipeline(transaction=True) as pipe:
                pipe.set(key, 1, px=milliseconds, nx=True)
                pipe.pexpire(key, milliseconds, gt=True)
                pipe.execute()

        with suppress(RedisAway):
            self._call(spread)

    def wake(self, who: str) -> None:
        """End a rest that this process knows of."""
        with self._lock:
            known = self._until.pop(who, None)
        if known is not None:
            with suppress(RedisAway):
                self._call(lambda client: client.delete(_KEY + who))

    def _shared(self, who: str) -> float:
        try:
            left = self._call(lambda client: client.pttl(_KEY + who))
        except RedisAway:
            return 0.0
        return int(left) / 1000

    def _call(self, action: Callable[[Redis], _T]) -> _T:
        if self._gate is None:
            raise RedisAway("this process has no Redis")
        return self._gate.call(action)
