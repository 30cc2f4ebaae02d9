"""Which providers rest, shared between processes through Redis, and known to each without it.

Redis only spreads the word. A process keeps what it learned itself, so that without Redis it
still spares a provider that has just refused it.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from redis import Redis

from habakkuk.core.clock import Clock
from habakkuk.core.redis import PREFIX, RedisAway, RedisGate

_KEY = f"{PREFIX}rest:"
# As long as a provider's own word is believed; see faults.
_LONGEST = 3600.0


class SharedCooldowns:
    """The Cooldowns port on Redis. Thread-safe."""

    def __init__(self, gate: RedisGate, clock: Clock | None = None) -> None:
        """Use the process's gate; nothing is asked yet."""
        self._gate = gate
        self._clock = clock or Clock()
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def resting(self, provider: str) -> float:
        """Return for how many seconds yet `provider` should not be called; 0 when it may."""
        now, shared = self._clock.monotonic(), self._shared(provider)
        with self._lock:
            if shared > 0:
                # So that its answer can end the rest, whoever began it.
                self._until.setdefault(provider, now + shared)
            own = self._until.get(provider, 0.0) - now
        return max(0.0, own, shared)

    def rest(self, provider: str, seconds: float) -> None:
        """Let `provider` rest; a longer rest that it already has stays."""
        seconds = min(seconds, _LONGEST)
        milliseconds = int(seconds * 1000)
        if milliseconds <= 0:
            return
        with self._lock:
            until = self._clock.monotonic() + seconds
            self._until[provider] = max(until, self._until.get(provider, 0.0))

        def spread(client: Redis) -> None:
            key = _KEY + provider
            with client.pipeline(transaction=True) as pipe:
                pipe.set(key, 1, px=milliseconds, nx=True)
                pipe.pexpire(key, milliseconds, gt=True)
                pipe.execute()

        with suppress(RedisAway):
            self._gate.call(spread)

    def wake(self, provider: str) -> None:
        """End a rest that this process knows of."""
        with self._lock:
            known = self._until.pop(provider, None)
        if known is not None:
            with suppress(RedisAway):
                self._gate.call(lambda client: client.delete(_KEY + provider))

    def _shared(self, provider: str) -> float:
        try:
            left = self._gate.call(lambda client: client.pttl(_KEY + provider))
        except RedisAway:
            return 0.0
        return int(left) / 1000
