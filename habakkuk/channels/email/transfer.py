"""Undo what carries bytes through mail (RFC 2045, section 6), piece by piece."""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterable, Iterator

_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]+")


def decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the bytes of a part; what is broken in it is left out."""
    if encoding == "base64":
        yield from _base64(pieces)
    elif encoding == "quoted-printable":
        yield from _quoted(pieces)
    else:
        yield from pieces


def _base64(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        rest += _NOT_BASE64.sub(b"", piece)
        whole = len(rest) // 4 * 4
        yield _unpacked(rest[:whole])
        rest = rest[whole:]
    if rest:
        yield _unpacked(rest + b"=" * (-len(rest) % 4))


def _unpacked(text: bytes) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""


def _quoted(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        lines, end, rest = (rest + piece).rpartition(b"\n")
        if end:
            yield quopri.decodestring(lines + end)
    if rest:
        yield quopri.decodestring(rest)
