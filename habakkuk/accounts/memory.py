"""Who came with which token or id a moment ago, so that not every request asks the database.

PostgreSQL tells at once when a token, a person or an identity changed (triggers notify
`hab_accounts`). Nothing is remembered while that is not heard, and nothing for longer than ten
seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from habakkuk.accounts.types import Principal, User
from habakkuk.core.clock import Clock

ACCOUNTS_CHANNEL = "hab_accounts"
KEEP_SECONDS = 10.0
_MOST = 1024
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class _Known(Generic[_Value]):
    value: _Value
    until: float


class Memory(Generic[_Value]):
    """Values by what they were looked up with. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        """Remember nothing before changes are told."""
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[Hashable, _Known[_Value]] = {}
        self._hears = False
        self._changes = 0

    @property
    def changes(self) -> int:
        """How often something may have changed: to be asked before the database is."""
        return self._changes

    def recall(self, key: Hashable) -> _Value | None:
        """Return what belongs to `key`, None when the database must tell."""
        known = self._known.get(key)
        if known is None or known.until < self._clock.monotonic():
            return None
        return known.value

    def keep(self, key: Hashable, value: _Value, changes: int) -> None:
        """Remember what the database said, unless something changed since `changes` was read."""
        with self._lock:
            if not self._hears or self._changes != changes:
                return
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = _Known(value, self._clock.monotonic() + KEEP_SECONDS)

    def begin_anew(self, *, hears: bool) -> None:
        """Forget everything; remember from now on when changes are told."""
        with self._lock:
            self._hears = hears
            self._changes += 1
            self._known.clear()


class AccountMemory:
    """What one process remembers; hears of changes by a DoneListener.

    `tokens` has principals by the digest of their token, `identities` people by channel, account
    and id there.
    """

    channel = ACCOUNTS_CHANNEL

    def __init__(self, clock: Clock | None = None) -> None:
        """Remember nothing before changes are told."""
        clock = clock or Clock()
        self.tokens: Memory[Principal] = Memory(clock)
        self.identities: Memory[User] = Memory(clock)

    def told(self, _payload: str) -> None:
        """Forget everybody: a token, a person or an identity changed."""
        self._begin_anew(hears=True)

    def began(self) -> None:
        """Remember from now on: changes are told."""
        self._begin_anew(hears=True)

    def ended(self) -> None:
        """Remember nothing: changes are not told any more."""
        self._begin_anew(hears=False)

    def _begin_anew(self, *, hears: bool) -> None:
        for memory in (self.tokens, self.identities):
            memory.begin_anew(hears=hears)
