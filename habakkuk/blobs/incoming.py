"""Files that arrive inside JSON, as data: URIs."""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from habakkuk.core.errors import Invalid
from habakkuk.core.text import clean, shorten
from habakkuk.llm.media.sniff import sniff

# Seed, Channels: at most 25 MB a file.
MOST_BYTES = 25_000_000
_LONGEST_NAME = 200
# Characters, in whole groups of four.
_PIECE = 262_144
_HEAD = "data:"
_NOT_BASE64 = "it is no base64"


@dataclass(frozen=True)
class IncomingFile:
    """An image or a PDF. `blob` is the id that storing `data` gives; `mime` is what it is."""

    blob: str
    mime: str
    name: str | None
    data: bytes = field(repr=False)


def incoming(text: str, name: str | None = None) -> IncomingFile:
    """Return the file in a data: URI, or in base64 alone. Raises Invalid, which says why not.

    What it is, its bytes say: types and names come from outside.
    """
    data = _decoded(text)
    mime = sniff(data)
    if mime is None:
        raise Invalid("it is neither an image nor a PDF")
    blob = hashlib.sha256(data).hexdigest()
    plain = " ".join(clean(name or "").split())
    return IncomingFile(blob, mime, shorten(plain, _LONGEST_NAME) or None, data)


def _decoded(text: str) -> bytes:
    head, comma, body = text.partition(",") if text.startswith(_HEAD) else ("", ",", text)
    if not comma or (head and not head.endswith(";base64")):
        raise Invalid("send it in base64, as data:image/png;base64,...")
    if len(body) * 3 // 4 > MOST_BYTES + 2:
        raise Invalid(f"it is too large; at most {MOST_BYTES:,} bytes are accepted")
    try:
        data = b"".join(_pieces(body))
    except ValueError as error:
        raise Invalid(_NOT_BASE64) from error
    if len(data) > MOST_BYTES:
        raise Invalid(f"it is too large; at most {MOST_BYTES:,} bytes are accepted")
    return data


def _pieces(body: str) -> Iterator[bytes]:
    """Yield the bytes in pieces: each holds the interpreter, so other threads run in between."""
    for at in range(0, len(body), _PIECE):
        piece = binascii.a2b_base64(body[at : at + _PIECE], strict_mode=True)
        if at + _PIECE < len(body) and len(piece) * 4 != _PIECE * 3:
            raise ValueError("padded before its end")
        yield piece
