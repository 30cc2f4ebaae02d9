"""Bytes of a file as text, or what they are instead."""

from __future__ import annotations

from dataclasses import dataclass

from habakkuk.core.errors import ToolError

_SNIFF = 8_192
# How files of no text begin; RIFF holds several kinds.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or a document or program packed as one)"),
    (b"\x1f\x8b", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"(\xb5/\xfd", "a zstd file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "a program (ELF)"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"RIFF", "an audio, video or WebP file (RIFF)"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
)
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


@dataclass(frozen=True)
class Decoded:
    """A text, and what a reader should know of how it was read."""

    text: str
    notes: tuple[str, ...] = ()


def decode(data: bytes, path: str) -> Decoded:
    """Return the text of a file; bytes that are no UTF-8 become U+FFFD, and a note says so.

    Raises ToolError that says what the file is when it is none.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, encoding)
    refuse_binary(data, path)
    try:
        return Decoded(data.decode("utf-8"))
    except UnicodeDecodeError:
        note = "some bytes are no UTF-8 and are shown as \ufffd"
        return Decoded(data.decode("utf-8", "replace"), (note,))


def refuse_binary(data: bytes, path: str) -> None:
    """Raise ToolError when this is no text: it begins like a known kind, or holds NUL early on."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            raise ToolError(f"{path}: this is {kind}, not text ({len(data)} bytes)")
    if b"\0" in data[:_SNIFF]:
        raise ToolError(f"{path}: this is binary data, not text ({len(data)} bytes)")


def _marked(data: bytes, encoding: str) -> Decoded:
    note = f"the file is in {encoding.upper()}"
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    return Decoded(text, (note,))


def encode(text: str, what: str) -> bytes:
    """Return a text as a file holds it. Raises ToolError on what no text file holds."""
    if "\0" in text:
        raise ToolError(f"{what} holds a NUL character, which no text file holds")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(f"{what} holds half of a character (a lone surrogate)") from error
