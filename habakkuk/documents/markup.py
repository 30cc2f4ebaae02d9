"""XML as a stream of events: no tree is built, and nothing that a document declares is followed.

A document type is refused as a whole, and entities with it (bombs, files of this machine).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from xml.sax import SAXException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml import DefusedXmlException
from defusedxml.expatreader import create_parser

from habakkuk.documents.types import Unreadable

Attributes = Mapping[str, str]
_DEEPEST = 1_000
_LONGEST_NUMBER = 9


class Handler:
    """What is called for the elements of a part.

    Names come without their prefix, which each program chooses: `w:p` as `p`, the attribute `r:id`
    as `:id`, which is another one than `id`.
    """

    def begin(self, name: str, attributes: Attributes, /) -> None:
        """Take the beginning of an element."""

    def end(self, name: str, /) -> None:
        """Take its end."""

    def characters(self, text: str, /) -> None:
        """Take text; one text may come in pieces."""


class _Bridge(ContentHandler):
    """Calls a Handler."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self._handler = handler
        self._depth = 0

    def characters(self, content: str) -> None:
        self._handler.characters(content)

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 - its name
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        given = {_attribute(key): value for key, value in attrs.items()}
        self._handler.begin(name.rpartition(":")[2], given)

    def endElement(self, name: str) -> None:  # noqa: N802 - its name
        self._depth -= 1
        self._handler.end(name.rpartition(":")[2])


def whole(text: str) -> int | None:
    """Return a whole number of at most nine digits, None for anything else."""
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else None


def _attribute(name: str) -> str:
    _, colon, local = name.rpartition(":")
    return colon + local


class Parser:
    """Reads XML that comes in pieces."""

    def __init__(self, handler: Handler) -> None:
        """Call `handler` for what comes."""
        self._parser = create_parser(forbid_dtd=True)
        self._parser.setContentHandler(_Bridge(handler))

    def feed(self, chunk: bytes) -> None:
        """Read on. Raises Unreadable, and what the handler raises."""
        with _explained():
            self._parser.feed(chunk)

    def close(self) -> None:
        """End it: what is open still is missing. Raises as feed does."""
        with _explained():
            self._parser.close()


def parse(chunks: Iterable[bytes], handler: Handler) -> None:
    """Read XML that comes in pieces. Raises Unreadable, and what the pieces or handler raise."""
    parser = Parser(handler)
    for chunk in chunks:
        parser.feed(chunk)
    parser.close()


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except DefusedXmlException as error:
        raise Unreadable("it declares a document type, as no sound document does") from error
    except (SAXException, ValueError, LookupError, OSError) as error:
        raise Unreadable("it is damaged: a part of it is no XML") from error
