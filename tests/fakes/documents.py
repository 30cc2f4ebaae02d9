"""Documents made by foreign programs, and by hand what no sound program makes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import openpyxl
from docx import Document
from pptx import Presentation
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(pages: Sequence[Sequence[str]], title: str = "", password: str | None = None) -> bytes:
    """Return a PDF whose pages have these lines, by reportlab."""
    out = io.BytesIO()
    lock = StandardEncryption(password) if password else None
    canvas = Canvas(out, encrypt=lock, pageCompression=1)
    canvas.setTitle(title)
    for lines in pages:
        for number, line in enumerate(lines):
            canvas.drawString(72, 750 - 14 * number, line)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def docx(paragraphs: Iterable[tuple[str, str]] = (("Normal", "hello"),), title: str = "") -> bytes:
    """Return a DOCX of paragraphs, each with its style, by python-docx."""
    document = Document()
    document.core_properties.title = title
    for style, text in paragraphs:
        document.add_paragraph(text, style=style)
    return saved(document)


def xlsx(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """Return an XLSX of rows, by openpyxl."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    return saved(book)


def pptx(slides: Sequence[tuple[str, str, str]], title: str = "") -> bytes:
    """Return a PPTX of slides with a title, a text and notes, by python-pptx."""
    show = Presentation()
    show.core_properties.title = title
    for head, body, notes in slides:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = head
        slide.placeholders[1].text = body
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    return saved(show)


def saved(document: Any) -> bytes:
    """Return what a library's document saves."""
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def with_part(data: bytes, name: str, content: bytes) -> bytes:
    """Return a package with a part put in, or in the place of the one it had."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for one in old.namelist():
            if one != name:
                new.writestr(one, old.read(one))
        new.writestr(name, content)
    return out.getvalue()


def part(data: bytes, name: str) -> bytes:
    """Return a part of a package."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return package.read(name)


def bare_docx(body: bytes, head: bytes = b"") -> bytes:
    """Return the least DOCX, with this inside of its body and this before its root."""
    out = io.BytesIO()
    relation = f'<Relationship Id="r" Type="{_TYPES}/officeDocument" Target="word/document.xml"/>'
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr(
            "_rels/.rels", f'<Relationships xmlns="{_RELATIONS}">{relation}</Relationships>'
        )
        package.writestr(
            "word/document.xml",
            head
            + f'<w:document xmlns:w="{_WORDS}"><w:body>'.encode()
            + body
            + b"</w:body></w:document>",
        )
    return out.getvalue()
