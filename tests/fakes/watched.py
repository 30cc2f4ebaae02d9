"""A file that tells how it was read."""

from __future__ import annotations

import io


class Watched(io.BytesIO):
    """A file that remembers how much of it was asked for at once."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.asked: list[int] = []

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.asked.append(len(found))
        return found
