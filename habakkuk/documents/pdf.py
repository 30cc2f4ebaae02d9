"""PDF: the text of each page, by PDFium."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_raw

from habakkuk.documents.types import Part, Unreadable

_MOST_PAGES = 100_000
_SCAN = "(no text on this page; it may be a picture of one)\n"
# How PDFium marks a hyphen at the end of a line.
_HYPHENS = {"\ufffe": "-", "\x02": "-"}
_LONGEST_TITLE = 300


class Pdf:
    """An open PDF."""

    kind = "PDF"
    unit = "page"

    def __init__(self, data: bytes) -> None:
        """Read what it holds. Raises Unreadable."""
        try:
            self._document = pdfium.PdfDocument(data)
            self._pages = len(self._document)
        except pdfium.PdfiumError as error:
            if getattr(error, "err_code", None) == pdfium_raw.FPDF_ERR_PASSWORD:
                raise Unreadable("it is protected by a password") from error
            raise Unreadable("it is damaged") from error
        if self._pages > _MOST_PAGES:
            raise Unreadable("it has too many pages")
        self.title = self._title()

    @property
    def parts(self) -> Sequence[Part]:
        """The pages."""
        return [Part("", partial(self._text, index)) for index in range(self._pages)]

    def _text(self, index: int) -> Iterator[str]:
        try:
            page = self._document[index]
        except pdfium.PdfiumError:
            yield "(this page is damaged)\n"
            return
        try:
            text = page.get_textpage().get_text_bounded()
        except pdfium.PdfiumError:
            text = ""
        finally:
            page.close()
        for mark, hyphen in _HYPHENS.items():
            text = text.replace(mark, hyphen)
        yield text.replace("\r\n", "\n").strip() + "\n" if text.strip() else _SCAN

    def _title(self) -> str:
        try:
            title = self._document.get_metadata_value("Title")
        except pdfium.PdfiumError:
            return ""
        return " ".join(title.split())[:_LONGEST_TITLE]
