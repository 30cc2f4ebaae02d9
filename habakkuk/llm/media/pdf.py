"""As much of a PDF as decides whether a model can be sent it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import chain, islice

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
# Who counts so many counts no further: no service takes as many.
_MOST_PAGES = 10_000
# What is packed is read no further than this: so many streams, of each and of all so many bytes.
# A file can be all streams, and a small one can hold gigabytes.
_MOST_STREAMS = 2_000
_MOST_OF_STREAM = 1_000_000
_MOST_UNPACKED = 32_000_000


def whole(data: bytes) -> bool:
    """Whether the end of the file is there: what was cut is refused by providers."""
    return b"startxref" in data


def protected(data: bytes) -> bool:
    """Whether a password or rights stand in the way."""
    return b"/Encrypt" in data


def pages(data: bytes) -> int:
    """Return how many pages are found, 10,000 at most; 0 when the file does not show any."""
    found = 0
    for part in chain((data,), _unpacked(data)):
        found += sum(1 for _ in islice(_PAGE.finditer(part), _MOST_PAGES - found))
        if found >= _MOST_PAGES:
            break
    return found


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield what object streams hold; newer PDFs keep their pages there."""
    left = _MOST_UNPACKED
    at = 0
    for _ in range(_MOST_STREAMS):
        at = data.find(b"/ObjStm", at)
        begin = data.find(b"stream", at)
        end = data.find(b"endstream", begin)
        if min(at, begin, end) < 0 or left <= 0:
            return
        part = _inflated(data[begin + len(b"stream") : end].lstrip(b"\r\n"))
        # What turns out to be broken may have been long until then.
        left -= _MOST_OF_STREAM if part is None else len(part)
        yield part or b""
        at = end


def _inflated(packed: bytes) -> bytes | None:
    try:
        return zlib.decompressobj().decompress(packed, _MOST_OF_STREAM)
    except zlib.error:
        # Packed in another way; its pages are not counted.
        return None
