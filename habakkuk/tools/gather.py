"""Bytes of a stream of any length, in bounded memory: its beginning and its end."""

from __future__ import annotations

from collections import deque

# A whole output of this size is kept for read_output; of more, the middle is dropped.
HEAD_BYTES = 1_000_000
TAIL_BYTES = 1_000_000


class Gathered:
    """What came, at most its first and last megabyte."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        """Start empty; sizes in bytes."""
        self._head_limit, self._tail_limit = head, tail
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.dropped = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        rest = data[room:]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_size += len(rest)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_limit:
            gone = len(self._tail.popleft())
            self._tail_size -= gone
            self.dropped += gone

    def text(self) -> str:
        """Return it as text; what is no UTF-8 becomes U+FFFD."""
        head = self._head.decode("utf-8", "replace")
        if not self._tail:
            return head
        if not self.dropped:
            return (bytes(self._head) + b"".join(self._tail)).decode("utf-8", "replace")
        tail = b"".join(self._tail).decode("utf-8", "replace")
        return f"{head}\n[… {self.dropped} bytes dropped …]\n{tail}"
