"""Read the chosen parts of a document: what the child does between its order and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from habakkuk.documents.docx import Docx
from habakkuk.documents.markup import Attributes, Handler
from habakkuk.documents.package import Package
from habakkuk.documents.pdf import Pdf
from habakkuk.documents.pptx import Pptx
from habakkuk.documents.selection import chosen
from habakkuk.documents.types import Document, Reading, Unreadable
from habakkuk.documents.xlsx import Xlsx

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# A PDF may have other bytes before its head, but not many.
_PDF_HEAD = 1024
_SEALED = "EncryptedPackage".encode("utf-16-le")
# The root of the main part tells what a package is; names and types in it are the writer's.
_ROOTS: Mapping[str, Callable[[Package], Document]] = {
    "document": Docx,
    "workbook": Xlsx,
    "presentation": Pptx,
}


def opened(data: bytes) -> Document:
    """Open a document by its content. Raises Unreadable, also for one of another kind."""
    if data.startswith(_ZIP):
        return _package(Package(data))
    if b"%PDF-" in data[:_PDF_HEAD]:
        return Pdf(data)
    if data.startswith(_OLE):
        if _SEALED in data:
            raise Unreadable("it is protected by a password")
        raise Unreadable(
            "it is of the old form of Word, Excel or PowerPoint; only the new one is read"
        )
    raise Unreadable("it is no PDF, DOCX, XLSX or PPTX")


def _package(package: Package) -> Document:
    root = _Root()
    with suppress(_Known):
        package.parse(package.main_part(), root)
    kind = _ROOTS.get(root.name)
    if kind is None:
        raise Unreadable("it is no DOCX, XLSX or PPTX")
    return kind(package)


class _Known(Exception):
    """The root was seen; the rest is not needed."""


class _Root(Handler):
    def __init__(self) -> None:
        self.name = ""

    def begin(self, name: str, _attributes: Attributes, /) -> None:
        self.name = name
        raise _Known


def read(data: bytes, pages: str, offset: int, limit: int) -> Reading:
    """Return `limit` characters from `offset` on of the parts that `pages` asks for.

    Raises Unreadable.
    """
    document = opened(data)
    parts = document.parts
    if pages.strip() and not document.unit:
        raise Unreadable("it has no pages of its own: leave pages out, and read on with offset")
    numbers = chosen(pages, len(parts), document.unit)
    window = _Window(offset, limit)
    for number in numbers:
        window.part = number
        if any(window.take(piece) for piece in _pieces(document, number)):
            break
    if offset and not window.text and not window.more:
        raise Unreadable(
            f"what was asked for has {window.seen} characters; offset {offset} is past them"
        )
    return Reading(
        kind=document.kind,
        unit=document.unit,
        title=document.title,
        total=len(parts),
        chosen=numbers,
        offset=offset,
        text="".join(window.text),
        more=window.more,
        last=window.last,
    )


def _pieces(document: Document, number: int) -> Iterator[str]:
    part = document.parts[number - 1]
    if document.unit:
        title = f": {part.title}" if part.title else ""
        yield f"--- {document.unit} {number} of {len(document.parts)}{title} ---\n"
    yield from part.text()
    yield "\n"


class _Window:
    """The characters from `offset` on, `limit` at most; what comes after them is not read."""

    def __init__(self, offset: int, limit: int) -> None:
        self._offset, self._limit = offset, limit
        self.text: list[str] = []
        self.seen = 0
        self.part = 0
        self.last = 0
        self.more = False

    def take(self, piece: str) -> bool:
        """Take the next piece; True when there is no room for all of it."""
        begin = max(0, self._offset - self.seen)
        end = self._offset + self._limit - self.seen
        self.seen += len(piece)
        inside = piece[begin:end]
        if inside:
            self.text.append(inside)
            self.last = self.part
        self.more = len(piece) > end
        return self.more
