"""The parts of a mail: the text that people read, and the files beside it.

Parts are numbered as IMAP does (RFC 3501, section 6.4.5), so that a file can be fetched later
without the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message

from habakkuk.channels.email import headers
from habakkuk.channels.email.page import text_of_html
from habakkuk.core.text import clean, shorten

_LONGEST_NAME = 120
# A mail of nothing but parts in parts is no letter.
_DEEPEST, _MOST_PARTS = 20, 500
_MOST_FILES = 50
# All texts together. A page of that has 100 MB in memory while it is read.
_MOST_TEXT = 2_000_000
_SECRET = {
    "multipart/encrypted",
    "application/pkcs7-mime",
    "application/x-pkcs7-mime",
}
# What belongs to a signature, and to nobody's eyes.
_SIGNATURES = {"application/pgp-signature", "application/pkcs7-signature"}


@dataclass(frozen=True)
class Part:
    """A file. `encoding` is how IMAP gives its bytes; `size` in bytes, None for a mail."""

    number: str
    name: str
    mime: str
    encoding: str
    size: int | None


@dataclass(frozen=True)
class Body:
    """What a mail holds. `sealed`: it is encrypted, so that nothing here can be read.

    `cut`: the text is longer than what is here.
    """

    text: str
    files: tuple[Part, ...]
    sealed: bool
    cut: bool


def read_parts(mail: Message) -> Body:
    """Return text and files of a mail; never fails."""
    reading = _Reading()
    for leaf in _leaves(mail, _Place()):
        reading.take(leaf)
    kinds = {mail.get_content_type(), *(file.mime for file in reading.files)}
    sealed = not kinds.isdisjoint(_SECRET)
    return Body(reading.text, tuple(reading.files[:_MOST_FILES]), sealed, reading.is_cut)


@dataclass(frozen=True)
class _Place:
    """Where a part stands: its number, how deep, and the alternatives that it is one of."""

    number: str = ""
    depth: int = 0
    among: str | None = None

    def child(self, part: Message, n: int) -> _Place:
        """Return where the child `n` of a container stands."""
        kind = part.get_content_type()
        among = (self.number or "0") if kind == "multipart/alternative" else self.among
        return _Place(f"{self.number}.{n}" if self.number else str(n), self.depth + 1, among)


@dataclass(frozen=True)
class _Text:
    """A text that people read, and the alternatives that it is one of."""

    among: str | None
    is_page: bool
    text: str


class _Reading:
    """What was found so far: of alternatives the plain one is taken where it says something."""

    def __init__(self) -> None:
        self.files: list[Part] = []
        self.is_cut = False
        self._texts: list[_Text] = []
        self._left = _MOST_TEXT

    def take(self, leaf: tuple[_Place, Message]) -> None:
        """Take a part that has no parts of its own."""
        place, part = leaf
        mime = part.get_content_type()
        if mime in _SIGNATURES:
            return
        if mime in {"text/plain", "text/html"} and not _is_file(part):
            self._texts.append(_Text(place.among, mime == "text/html", self._said(part)))
        else:
            self.files.append(_file(place.number or "1", part))

    def _said(self, part: Message) -> str:
        content = _bytes(part)
        cut = len(content) > self._left
        content = content[: self._left]
        self.is_cut = self.is_cut or cut
        self._left -= len(content)
        said = headers.text_of(content, _charset(part), cut=cut)
        return clean(said).replace("\r\n", "\n")

    @property
    def text(self) -> str:
        """All that people read, in the order of its parts."""
        said = [one for one in self._texts if one.text.strip()]
        plain = {one.among for one in said if not one.is_page and one.among is not None}
        shown = [
            text_of_html(one.text) if one.is_page else one.text
            for one in said
            if not (one.is_page and one.among in plain)
        ]
        return "\n".join(filter(None, shown))


def _leaves(mail: Message, place: _Place) -> Iterator[tuple[_Place, Message]]:
    """Yield every part that is no container, with its place; a mail in the mail is a file."""
    is_container = mail.get_content_maintype() == "multipart" and mail.is_multipart()
    if not is_container or place.depth >= _DEEPEST:
        yield place, mail
        return
    parts = mail.get_payload()
    assert isinstance(parts, list)  # noqa: S101 - what a container has
    for n, part in enumerate(parts[:_MOST_PARTS], 1):
        if isinstance(part, Message):
            yield from _leaves(part, place.child(mail, n))


def _is_file(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_name(part))


def _name(part: Message) -> str:
    try:
        found = part.get_filename()
    except (LookupError, ValueError, TypeError):
        return ""
    name = shorten(clean(headers.unfolded(found)), 4 * _LONGEST_NAME) if found else ""
    # Only the last piece of what may be written as a path.
    return name.replace("\\", "/").rpartition("/")[2].strip(". ")[-_LONGEST_NAME:]


def _file(number: str, part: Message) -> Part:
    mime = part.get_content_type()
    name = _name(part)
    if not name:
        kind = "mail.eml" if mime == "message/rfc822" else "file"
        name = f"{kind}" if number == "1" else f"{number}-{kind}"
    encoding = headers.first(part, "content-transfer-encoding").strip()
    return Part(number, name, clean(mime)[:_LONGEST_NAME], encoding[:20], _size(part))


def _size(part: Message) -> int | None:
    return None if part.is_multipart() else len(_bytes(part))


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except (LookupError, ValueError, TypeError):
        return None


def _bytes(part: Message) -> bytes:
    try:
        content = part.get_payload(decode=True)
    except (LookupError, ValueError, TypeError):
        return b""
    return content if isinstance(content, bytes) else b""
