"""Every Redis client is made here. Redis is never needed: it wakes, gates and shows.

`command`: short timeouts, no retries, behind one breaker a process; a frozen server costs half a
second once, then nothing for five. `blocking`: no socket timeout, for reads that wait (redis-py's
default gives up after a minute of retries and never returns None).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from habakkuk.core.clock import Clock
from habakkuk.core.errors import HabakkukError

PREFIX = "hab:1:"
_T = TypeVar("_T")
_OPEN_SECONDS = 5.0
_TIMEOUT_SECONDS = 0.5


class RedisAway(HabakkukError):
    """Redis does not answer, or did not a moment ago."""


class RedisGate:
    """One command client behind one breaker. Thread-safe."""

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        """Prepare the client; connects at the first call."""
        self._url = url
        self._client: Redis = command_client(url)
        self._clock = clock or Clock()
        self._open_until = 0.0
        self._lock = threading.Lock()

    @property
    def away(self) -> bool:
        """Whether calls are refused at present because the last one failed."""
        return self._clock.monotonic() < self._open_until

    def call(self, action: Callable[[Redis], _T]) -> _T:
        """Run `action` with the client. Raises RedisAway, at once while the breaker is open."""
        if self.away:
            raise RedisAway("Redis did not answer a moment ago")
        try:
            return action(self._client)
        except (RedisError, OSError) as error:
            with self._lock:
                self._open_until = self._clock.monotonic() + _OPEN_SECONDS
            raise RedisAway(f"Redis does not answer: {type(error).__name__}") from error

    def ping_away(self) -> bool:
        """Ask the server; True when it does not answer."""
        try:
            self.call(lambda client: client.ping())
        except RedisAway:
            return True
        return False

    def blocking(self, at_most: float | None = None) -> Redis:
        """Return a new client for reads that wait, for ever or `at_most` so many seconds."""
        return blocking_client(self._url, at_most)

    def close(self) -> None:
        """Close the command client."""
        self._client.close()


def command_client(url: str) -> Redis:
    """Return a client whose every call ends within about half a second."""
    return Redis.from_url(
        url,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )


def blocking_client(url: str, at_most: float | None = None) -> Redis:
    """Return a client whose reads may wait for ever; connecting still has its limit."""
    # redis-py refuses the keep-alive option on a unix socket, where it means nothing.
    keepalive = {} if url.startswith("unix:") else {"socket_keepalive": True}
    return Redis.from_url(
        url,
        socket_timeout=at_most,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
        **keepalive,
    )


def broker_url(url: str) -> str:
    """Return a Redis URL as Celery's transport writes it: unix sockets have a scheme of its own."""
    if not url.startswith("unix:"):
        return url
    parts = urlsplit(url)
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={database}"
