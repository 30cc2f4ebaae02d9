"""As much of a PDF as decides whether a model can be sent it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
# What is packed is read no further than this, all of it together.
_MOST_UNPACKED = 64_000_000


def whole(data: bytes) -> bool:
    """Whether the end of the file is there: what was cut is refused by providers."""
    return b"startxref" in data


def protected(data: bytes) -> bool:
    """Whether a password or rights stand in the way."""
    return b"/Encrypt" in data


def pages(data: bytes) -> int:
    """Return how many pages are found; 0 when the file does not show any."""
    found = len(_PAGE.findall(data))
    return found + sum(len(_PAGE.findall(part)) for part in _unpacked(data))


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield what object streams hold; newer PDFs keep their pages there."""
    left = _MOST_UNPACKED
    at = data.find(b"/ObjStm")
    while at >= 0 and left > 0:
        begin = data.find(b"stream", at)
        end = data.find(b"endstream", begin)
        if begin < 0 or end < 0:
            return
        part = _inflated(data[begin + len(b"stream") : end].lstrip(b"\r\n"), left)
        left -= len(part)
        yield part
        at = data.find(b"/ObjStm", end)


def _inflated(packed: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, most)
    except zlib.error:
        # Packed in another way; its pages are not counted.
        return b""
