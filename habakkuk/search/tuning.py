"""Give a back-end that often comes too late a little longer, as far as the operator allows.

What was learned is shared between processes where Redis is there, and forgotten after a week; a
process keeps what it learned itself.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from habakkuk.core.clock import Clock
from habakkuk.core.config.searching import SearchTuningConfig
from habakkuk.core.redis import PREFIX, RedisAway, RedisGate

_KEY = f"{PREFIX}search-longer:"
_KEPT_MILLISECONDS = 7 * 24 * 3600 * 1000
# Between two changes, so that late and timely answers in turn do not make it swing.
_PAUSE = 300.0
# So many timely answers in a row shorten it again.
_TIMELY = 10


class Tuning:
    """How much longer each back-end may take. Thread-safe."""

    def __init__(
        self, config: SearchTuningConfig, gate: RedisGate | None, clock: Clock | None = None
    ) -> None:
        """Where `config` does not enable it, it is nothing ever."""
        self._config = config
        self._gate = gate
        self._clock = clock or Clock()
        self._own: dict[str, float] = {}
        self._changed: dict[str, float] = {}
        self._timely: dict[str, int] = {}
        self._lock = threading.Lock()

    def longer(self, name: str) -> float:
        """Return for how many seconds beyond its timeout a back-end may take."""
        if not self._config.enabled:
            return 0.0
        shared = self._shared(name)
        with self._lock:
            if shared is not None:
                self._own[name] = shared
            return min(self._own.get(name, 0.0), self._config.max_bump)

    def late(self, name: str) -> None:
        """Note that a back-end came too late."""
        with self._lock:
            self._timely[name] = 0
        self._change(name, self._config.step)

    def timely(self, name: str) -> None:
        """Note that a back-end answered in time."""
        with self._lock:
            count = self._timely[name] = self._timely.get(name, 0) + 1
        if count >= _TIMELY:
            self._change(name, -self._config.step)

    def _change(self, name: str, seconds: float) -> None:
        before = self.longer(name)
        after = min(max(0.0, before + seconds), self._config.max_bump)
        now = self._clock.monotonic()
        with self._lock:
            paused = now < self._changed.get(name, now) + _PAUSE and name in self._changed
            if not self._config.enabled or paused or after == before:
                return
            self._own[name], self._changed[name], self._timely[name] = after, now, 0
        if self._gate is not None:
            with suppress(RedisAway):
                self._gate.call(
                    lambda client: client.set(_KEY + name, after, px=_KEPT_MILLISECONDS)
                )

    def _shared(self, name: str) -> float | None:
        if self._gate is None:
            return None
        try:
            found = self._gate.call(lambda client: client.get(_KEY + name))
            return None if found is None else float(found)
        except (RedisAway, ValueError):
            return None
