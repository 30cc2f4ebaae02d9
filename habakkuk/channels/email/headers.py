"""Header fields of a mail as text, whatever stands in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from habakkuk.core.text import clean

# Decoding takes time that grows with the square of some faulty fields.
_LONGEST = 10_000
_ID = re.compile(r"<([^<>\s\x00-\x20\x7f-\U0010ffff]{1,400})>")


def raw(mail: Message, name: str) -> Sequence[str]:
    """Return every field of a name, unfolded and not decoded, from the top."""
    found = [value for named, value in mail.raw_items() if named.lower() == name]
    return [" ".join(_written(str(one)[:_LONGEST]).split()) for one in found]


def first(mail: Message, name: str) -> str:
    """Return the topmost field of a name, in small letters and not decoded; empty without one."""
    return next(iter(raw(mail, name)), "").lower()


def decoded(mail: Message, name: str) -> str:
    """Return the topmost field of a name as people read it; empty without one."""
    return unfolded(next(iter(raw(mail, name)), ""))


def unfolded(field: str) -> str:
    """Decode the encoded words (RFC 2047) of a field; what is none of them stays as it is."""
    try:
        pieces = decode_header(field)
    except (HeaderParseError, ValueError):
        return field
    made = [_text(piece, charset) for piece, charset in pieces]
    return " ".join(clean("".join(made)).split())


def ids(mail: Message, name: str) -> Sequence[str]:
    """Return the message ids in the fields of a name, without their angle brackets."""
    return [one for field in raw(mail, name) for one in _ID.findall(field)]


def text_of(content: bytes, charset: str | None, *, cut: bool = False) -> str:
    """Read bytes in a charset that may be unknown or wrong; never fails.

    `cut`: they may end within a character.
    """
    for name in (charset, "utf-8"):
        if name is None:
            continue
        try:
            return content.decode(name, "ignore" if cut else "strict")
        except (LookupError, ValueError):
            continue
    # Every byte means something in it, and most mail without a charset was written in it.
    return content.decode("cp1252", "replace")


def _written(field: str) -> str:
    """Read bytes beyond ASCII, which the library keeps as halves of characters, as UTF-8."""
    return clean(field.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def _text(piece: bytes | str, charset: str | None) -> str:
    if isinstance(piece, str):
        return piece
    return piece.decode("ascii", "replace") if charset is None else text_of(piece, charset)
