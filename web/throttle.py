"""Slow down whoever guesses secrets.

Every process counts an attempt before it is checked and takes it back when it succeeds, so that
many at once do not slip through. What failed is counted for all processes together, through Redis,
whose absence leaves the first: only there, or a process that dies amid good requests would leave
guesses that nobody made. A secret that was good a moment ago is never held up by other people's
failures, and costs nothing to count.
"""

from __future__ import annotations

import hashlib
import ipaddress
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from redis import Redis

from habakkuk.core.clock import Clock
from habakkuk.core.redis import PREFIX, RedisAway, RedisGate
from web.errors import Refused

_WINDOW_SECONDS = 60
_PER_SOURCE = 30
_GLOBAL = 300
_MAX_SOURCES = 10_000
_MAX_GOOD = 1_000
# What one household or attacker has of IPv6.
_OWN_BITS = 64


@dataclass(frozen=True)
class Attempt:
    """One secret that is about to be checked. `known` when it was good a moment ago."""

    source: str
    digest: bytes
    known: bool = False


class Throttle:
    """The failed attempts of the last minute, by source and together."""

    def __init__(
        self, clock: Clock, gate: RedisGate | None = None, what: str = "wrong tokens"
    ) -> None:
        """Start with none; `what` names in the refusal what is counted."""
        self._now: Callable[[], float] = clock.monotonic
        self._shared = _SharedCount(gate, clock, what.replace(" ", "-")) if gate else None
        self._what = what
        self._lock = threading.Lock()
        self._all: deque[float] = deque()
        self._by_source: OrderedDict[str, deque[float]] = OrderedDict()
        self._good: OrderedDict[bytes, None] = OrderedDict()
        self._checked: set[bytes] = set()

    def attempt(self, source: str, secret: str) -> Attempt:
        """Count an attempt that is about to be checked. Raises Refused when there were too many."""
        source, digest = _network(source), _digest(secret)
        with self._lock:
            # Many requests that bring the same secret at once are one guess.
            if digest in self._good or digest in self._checked:
                return Attempt(source, digest, known=True)
            self._count(source)
            self._checked.add(digest)
        if self._shared is not None and self._shared.full(source):
            self._over(digest)
            self._refuse()
        return Attempt(source, digest)

    def take_back(self, attempt: Attempt) -> None:
        """Forget an attempt: it was not a guess, or could not be checked."""
        if attempt.known:
            return
        self._over(attempt.digest)
        with self._lock:
            for attempts in (self._by_source.get(attempt.source), self._all):
                if attempts:
                    attempts.pop()

    def succeeded(self, attempt: Attempt, *, remember: bool = True) -> None:
        """Take the attempt back: the secret was good, and is known when it may come again."""
        if remember:
            with self._lock:
                self._good[attempt.digest] = None
                self._good.move_to_end(attempt.digest)
                if len(self._good) > _MAX_GOOD:
                    self._good.popitem(last=False)
        self.take_back(attempt)

    def failed(self, attempt: Attempt) -> None:
        """Let the attempt count. What was good and is no longer counts from the next time on."""
        with self._lock:
            self._good.pop(attempt.digest, None)
        if attempt.known:
            return
        self._over(attempt.digest)
        if self._shared is not None:
            self._shared.count(attempt.source)

    def _over(self, digest: bytes) -> None:
        """Note that a check has ended: the next one of the same secret counts for itself."""
        with self._lock:
            self._checked.discard(digest)

    def _count(self, source: str) -> None:
        now = self._now()
        own = self._by_source.setdefault(source, deque())
        self._by_source.move_to_end(source)
        if len(self._by_source) > _MAX_SOURCES:
            self._by_source.popitem(last=False)
        for attempts in (own, self._all):
            while attempts and attempts[0] <= now - _WINDOW_SECONDS:
                attempts.popleft()
        if len(own) >= _PER_SOURCE or len(self._all) >= _GLOBAL:
            self._refuse()
        own.append(now)
        self._all.append(now)

    def _refuse(self) -> None:
        raise Refused(
            429,
            f"too many {self._what} came from here; try again in a minute",
            _WINDOW_SECONDS,
        )


class _SharedCount:
    """The failed attempts of this minute of the clock, of all processes."""

    def __init__(self, gate: RedisGate, clock: Clock, name: str) -> None:
        self._gate = gate
        self._clock = clock
        self._prefix = f"{PREFIX}attempts:{name}:"

    def full(self, source: str) -> bool:
        """Whether there were too many; not while Redis is away."""
        try:
            own, together = self._gate.call(lambda client: client.mget(self._keys(source)))
        except RedisAway:
            return False
        return int(own or 0) >= _PER_SOURCE or int(together or 0) >= _GLOBAL

    def count(self, source: str) -> None:
        """Count one."""

        def add(client: Redis) -> None:
            with client.pipeline(transaction=True) as pipe:
                for key in self._keys(source):
                    pipe.incr(key)
                    pipe.expire(key, 2 * _WINDOW_SECONDS)
                pipe.execute()

        with suppress(RedisAway):
            self._gate.call(add)

    def _keys(self, source: str) -> tuple[str, str]:
        minute = int(self._clock.now().timestamp()) // _WINDOW_SECONDS
        return f"{self._prefix}{minute}:from:{source}", f"{self._prefix}{minute}:all"


def _network(source: str) -> str:
    """Return the source as it is counted: of an IPv6 address the part that one person has."""
    try:
        address = ipaddress.ip_address(source.partition("%")[0])
    except ValueError:
        return source
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _OWN_BITS), strict=False))
    return str(address)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
