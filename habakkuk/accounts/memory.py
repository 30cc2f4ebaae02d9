"""Who came with which token a moment ago, so that not every request asks the database.

PostgreSQL tells at once when a token or a person changed (a trigger notifies `hab_accounts`).
Nothing is remembered while that is not heard, and nothing for longer than ten seconds.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from habakkuk.accounts.types import Principal
from habakkuk.core.clock import Clock

ACCOUNTS_CHANNEL = "hab_accounts"
KEEP_SECONDS = 10.0
_MOST = 1024


@dataclass(frozen=True)
class _Known:
    principal: Principal
    until: float


class TokenMemory:
    """Principals by the digest of their token. Thread-safe; hears of changes by a DoneListener."""

    channel = ACCOUNTS_CHANNEL

    def __init__(self, clock: Clock | None = None) -> None:
        """Remember nothing before changes are told."""
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._known: dict[bytes, _Known] = {}
        self._hears = False
        self._changes = 0

    @property
    def changes(self) -> int:
        """How often something may have changed: to be asked before the database is."""
        return self._changes

    def recall(self, digest: bytes) -> Principal | None:
        """Return who came with this token, None when the database must tell."""
        known = self._known.get(digest)
        if known is None or known.until < self._clock.monotonic():
            return None
        return known.principal

    def keep(self, digest: bytes, principal: Principal, changes: int) -> None:
        """Remember what the database said, unless something changed since `changes` was read."""
        with self._lock:
            if not self._hears or self._changes != changes:
                return
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[digest] = _Known(principal, self._clock.monotonic() + KEEP_SECONDS)

    def told(self, _payload: str) -> None:
        """Forget everybody: a token or a person changed."""
        self._begin_anew(hears=True)

    def began(self) -> None:
        """Remember from now on: changes are told."""
        self._begin_anew(hears=True)

    def ended(self) -> None:
        """Remember nothing: changes are not told any more."""
        self._begin_anew(hears=False)

    def _begin_anew(self, *, hears: bool) -> None:
        with self._lock:
            self._hears = hears
            self._changes += 1
            self._known.clear()
