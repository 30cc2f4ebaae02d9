"""Long transcripts that this process has just seen, so that a turn does not read them again.

A transcript only grows, and only the session's running turn appends to it: what was seen stays
true, and where it ends (and which compaction holds) says whether there is more. Both are read with
the turn itself.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

from habakkuk.conversations.types import Transcript

# Short ones are read as fast as they are looked up.
_SHORTEST = 32
# Of all sessions together; some 10 MB, since the words themselves are mostly shared.
_MOST_MESSAGES = 8_192


class Remembered:
    """The transcripts of the sessions that were answered here last. Thread-safe."""

    def __init__(self, most: int = _MOST_MESSAGES) -> None:
        """Keep at most so many messages."""
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Transcript] = OrderedDict()
        self._count = 0

    def get(self, session_id: str, number: int) -> Transcript | None:
        """Return what was seen of a session under its compaction `number`; forgotten otherwise.

        It may have grown since: its last message's seq says how far it goes.
        """
        with self._lock:
            found = self._take(session_id)
        return found if found is not None and found.number == number else None

    def holds(self, session_id: str, messages: int) -> bool:
        """Tell whether so many messages of a session are kept."""
        with self._lock:
            found = self._kept.get(session_id)
        return found is not None and len(found.messages) == messages

    def put(self, session_id: str, shown: Transcript) -> None:
        """Keep a transcript as it is now, in place of what was kept of the session."""
        with self._lock:
            self._take(session_id)
            if _SHORTEST <= len(shown.messages) <= self._most:
                self._kept[session_id] = replace(shown, messages=tuple(shown.messages))
                self._count += len(shown.messages)
            while self._count > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._count -= len(oldest.messages)

    def _take(self, session_id: str) -> Transcript | None:
        """Remove and return what is kept: whoever runs a turn now has it, and puts it back."""
        found = self._kept.pop(session_id, None)
        if found is not None:
            self._count -= len(found.messages)
        return found
