"""Files that arrive inside JSON, as data: URIs."""

from __future__ import annotations

import binascii
import hashlib
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from habakkuk.core.errors import Invalid
from habakkuk.core.text import clean, shorten
from habakkuk.llm.media.sniff import SHOWN, sniff

# Seed, Channels: at most 25 MB a file.
MOST_BYTES = 25_000_000
_LONGEST_NAME = 200
# Characters, in whole groups of four.
_PIECE = 262_144
_HEAD = "data:"
_NOT_SHOWN = "it is neither an image nor a PDF"
_NOT_BASE64 = "it is no base64"
_TOO_LARGE = f"it is too large; at most {MOST_BYTES:,} bytes are accepted"
# Of a file's beginning, by which it is known.
HEAD_BYTES = 2_048
UNKNOWN = "application/octet-stream"
# As long as RFC 6838, section 4.2, lets them be: what comes from outside stands in every row of it.
_MIME = re.compile(r"[a-z0-9][a-z0-9.+-]{0,126}/[a-z0-9][a-z0-9.+-]{0,126}")


@dataclass(frozen=True)
class IncomingFile:
    """A file as it came. `blob` is the id that storing `data` gives; `mime` is what it is."""

    blob: str
    mime: str
    name: str | None
    data: bytes = field(repr=False)


def incoming(text: str, name: str | None = None) -> IncomingFile:
    """Return the file in a data: URI; an image or a PDF may be in base64 alone.

    Raises Invalid, which says why not.
    """
    declared, data = _decoded(text)
    if not text.startswith(_HEAD) and sniff(data[:HEAD_BYTES]) is None:
        # Many a word and path happens to be base64: nobody meant those bytes.
        raise Invalid(f"{_NOT_SHOWN}; send others as data:text/plain;base64,...")
    plain = shorten(" ".join(clean(name or "").split()), _LONGEST_NAME)
    mime = media_type(data[:HEAD_BYTES], declared, plain)
    return IncomingFile(hashlib.sha256(data).hexdigest(), mime, plain or None, data)


def incoming_shown(text: str, name: str | None = None) -> IncomingFile:
    """Return the same of an image or a PDF, and refuse what no model is shown."""
    file = incoming(text, name)
    if file.mime not in SHOWN:
        raise Invalid(_NOT_SHOWN)
    return file


def media_type(head: bytes, declared: str, name: str = "") -> str:
    """Return what a file is: by its first bytes, else as its sender says, else by its name.

    A browser calls unknown what its system has no type for, such as most programs' texts.
    """
    found = sniff(head)
    if found is not None:
        return found
    for said in (declared.partition(";")[0].strip().lower(), _named(name)):
        # What is called an image and is none would be refused with the whole conversation.
        if _MIME.fullmatch(said) and said not in SHOWN and said != UNKNOWN:
            return said
    return UNKNOWN


def _named(name: str) -> str:
    """Return what a name says that a file is, empty where it says no more than how it is packed."""
    # Its ending alone: the library reads a whole name as a URL, and a `.csv.gz` as a CSV.
    guessed, packed = mimetypes.guess_type(f"x{PurePosixPath(name).suffix}", strict=False)
    return guessed if guessed is not None and packed is None else ""


def _decoded(text: str) -> tuple[str, bytes]:
    """Return the type that a file is said to have, and its bytes."""
    head, comma, body = text.partition(",") if text.startswith(_HEAD) else ("", ",", text)
    if not comma or (head and not head.endswith(";base64")):
        raise Invalid("send it in base64, as data:image/png;base64,...")
    if len(body) * 3 // 4 > MOST_BYTES + 2:
        raise Invalid(_TOO_LARGE)
    try:
        data = b"".join(_pieces(body))
    except ValueError as error:
        raise Invalid(_NOT_BASE64) from error
    if len(data) > MOST_BYTES:
        raise Invalid(_TOO_LARGE)
    return head.removeprefix(_HEAD), data


def _pieces(body: str) -> Iterator[bytes]:
    """Yield the bytes in pieces: each holds the interpreter, so other threads run in between."""
    for at in range(0, len(body), _PIECE):
        piece = binascii.a2b_base64(body[at : at + _PIECE], strict_mode=True)
        if at + _PIECE < len(body) and len(piece) * 4 != _PIECE * 3:
            raise ValueError("padded before its end")
        yield piece
