"""Slow down whoever guesses tokens. Counted in this process, in memory.

Attempts are counted before the check and taken back when it succeeds, so that many at once do not
slip through. A token that was good a moment ago is never held up by other people's failures.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable

from web.errors import Refused

_WINDOW_SECONDS = 60.0
_PER_SOURCE = 30
_GLOBAL = 300
_MAX_SOURCES = 10_000
_MAX_GOOD = 1_000


class Throttle:
    """The failed attempts of the last minute, by source and together."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Start with none; `now` returns seconds."""
        self._now = now
        self._lock = threading.Lock()
        self._all: deque[float] = deque()
        self._by_source: OrderedDict[str, deque[float]] = OrderedDict()
        self._good: OrderedDict[bytes, None] = OrderedDict()

    def attempt(self, source: str, token: str) -> None:
        """Count an attempt that is about to be checked. Raises Refused when there were too many."""
        with self._lock:
            now = self._now()
            own = self._by_source.setdefault(source, deque())
            self._by_source.move_to_end(source)
            if len(self._by_source) > _MAX_SOURCES:
                self._by_source.popitem(last=False)
            for attempts in (own, self._all):
                while attempts and attempts[0] <= now - _WINDOW_SECONDS:
                    attempts.popleft()
            full = len(own) >= _PER_SOURCE or len(self._all) >= _GLOBAL
            if full and _digest(token) not in self._good:
                raise Refused(
                    429, "too many wrong tokens came from here; try again in a minute", 60
                )
            own.append(now)
            self._all.append(now)

    def take_back(self, source: str) -> None:
        """Forget the last attempt: it was not a guess, or could not be checked."""
        with self._lock:
            for attempts in (self._by_source.get(source), self._all):
                if attempts:
                    attempts.pop()

    def succeeded(self, source: str, token: str) -> None:
        """Take the attempt back: the token was good."""
        self.take_back(source)
        with self._lock:
            digest = _digest(token)
            self._good[digest] = None
            self._good.move_to_end(digest)
            if len(self._good) > _MAX_GOOD:
                self._good.popitem(last=False)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
