"""Header fields that others' words stand in, written so that they say these words and no more.

What is not plain ASCII is encoded as a whole, and so is what looks as if it were encoded already:
whoever reads it would decode it, and a line break in it could begin a field of its own.
"""

from __future__ import annotations

import re
from email.header import Header
from urllib.parse import quote

_PLAIN = re.compile(r"[ -~]*")
_ENCODED = "=?"
# What needs no codes between quotes.
_QUOTABLE = re.compile(r"[ !#-\[\]-~]*")
# A line of RFC 5322 has 78 characters: so many, and what stands before them.
_CODED_PIECE = re.compile(r"(?:%..|[^%]){1,18}")


def text(words: str, field: str) -> str:
    """Return words as a field of that name has them (RFC 2047)."""
    if _PLAIN.fullmatch(words) and _ENCODED not in words:
        return words
    return Header(words, "utf-8", header_name=field).encode()


def address(name: str, mailbox: str) -> str:
    """Return an address with the name that goes before it; `mailbox` holds no blank."""
    if not name:
        return mailbox
    if _PLAIN.fullmatch(name) and _ENCODED not in name:
        quoted = re.sub(r'(["\\])', r"\\\1", name)
        return f'"{quoted}" <{mailbox}>'
    # On a line of its own: its encoded words fill theirs.
    return f"{Header(name, 'utf-8', header_name='From').encode()}\n <{mailbox}>"


def attachment(name: str) -> str:
    """Return the Content-Disposition of a file (RFC 2183), its name coded as in RFC 2231."""
    if _QUOTABLE.fullmatch(name) and _ENCODED not in name:
        return f'attachment;\n filename="{name}"'
    pieces = _CODED_PIECE.findall(quote(name, safe=""))
    if len(pieces) == 1:
        return f"attachment;\n filename*=utf-8''{pieces[0]}"
    first, *others = pieces
    more = (f";\n filename*{n}*={piece}" for n, piece in enumerate(others, 1))
    return f"attachment;\n filename*0*=utf-8''{first}{''.join(more)}"
