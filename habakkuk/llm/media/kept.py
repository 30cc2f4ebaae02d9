"""What was made of files, for the next call: a cache bounded by its bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from habakkuk.llm.types import Payload

_OVERHEAD = 200


@dataclass(frozen=True)
class LeftOut:
    """Why a file is not sent, and its size in bytes where it was read."""

    reason: str
    size: int | None = None


@dataclass(frozen=True)
class Whole:
    """A file is sent as it is, of this type; its bytes are read again each time."""

    mime: str


Made = Payload | LeftOut
Held = Made | Whole


class Kept:
    """The results that were used last. Thread-safe; what is lost is made again."""

    def __init__(self, most_bytes: int) -> None:
        """Hold at most `most_bytes`; what alone is more is not held."""
        self._most = most_bytes
        self._bytes = 0
        self._held: OrderedDict[Hashable, Held] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Held | None:
        """Return what was made, None when it is not held."""
        with self._lock:
            made = self._held.get(key)
            if made is not None:
                self._held.move_to_end(key)
            return made

    def put(self, key: Hashable, made: Held) -> None:
        """Hold a result, and let go of those not used for longest."""
        size = _size(made)
        if size > self._most:
            return
        with self._lock:
            before = self._held.pop(key, None)
            self._bytes += size - (_size(before) if before is not None else 0)
            self._held[key] = made
            while self._bytes > self._most:
                _, dropped = self._held.popitem(last=False)
                self._bytes -= _size(dropped)


def _size(made: Held) -> int:
    return _OVERHEAD + (len(made.data) if isinstance(made, Payload) else 0)
