"""What documents that foreign programs wrote say."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from typing import Any

import docx as python_docx
import pytest
import xlsxwriter
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from pptx import Presentation
from pptx.util import Inches

from habakkuk.documents.reading import read
from habakkuk.documents.types import Reading, Unreadable
from tests.fakes import documents as made

ALL = 400_000
MOMENT = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - cells have no zone


def whole(data: bytes, pages: str = "", offset: int = 0, limit: int = ALL) -> Reading:
    return read(data, pages, offset, limit)


def test_a_pdf_by_page() -> None:
    found = whole(made.pdf([["one", "more"], ["two: äöü"], []], "A report"))
    assert (found.kind, found.unit, found.total, found.title) == ("PDF", "page", 3, "A report")
    assert found.text == (
        "--- page 1 of 3 ---\none\nmore\n\n--- page 2 of 3 ---\ntwo: äöü\n\n"
        "--- page 3 of 3 ---\n(no text on this page; it may be a picture of one)\n\n"
    )


def test_some_pages_of_a_long_one() -> None:
    found = whole(made.pdf([[f"text {n}"] for n in range(1, 13)]), "3-4,12")
    assert list(found.chosen) == [3, 4, 12]
    assert [line for line in found.text.splitlines() if line.startswith("text")] == [
        "text 3",
        "text 4",
        "text 12",
    ]


def test_a_page_that_is_not_there() -> None:
    with pytest.raises(Unreadable, match="it has 2 pages; there is no page 3"):
        whole(made.pdf([["a"], ["b"]]), "3")


def test_a_long_text_is_read_to_its_end_by_its_offsets() -> None:
    data = made.pdf([[f"page {page} line {line}" for line in range(40)] for page in range(9)])
    parts, offset = [], 0
    while True:
        found = whole(data, "2-8", offset, 1_000)
        parts.append(found.text)
        offset += len(found.text)
        if not found.more:
            break
        assert len(found.text) == 1_000
    assert "".join(parts) == whole(data, "2-8").text
    with pytest.raises(Unreadable, match=f"has {offset} characters; offset {offset + 1} is past"):
        whole(data, "2-8", offset + 1)


def test_a_docx_as_markdown() -> None:
    document = python_docx.Document()
    document.core_properties.title = "A letter"
    document.add_heading("Top", 1)
    document.add_heading("Below", 3)
    document.add_paragraph("Some text\twith a tab\nand a line")
    document.add_paragraph("item", style="List Bullet")
    table = document.add_table(2, 2)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"a|{number}"
    document.add_paragraph("after")
    found = whole(made.saved(document))
    assert (found.kind, found.unit, found.title) == ("DOCX", "", "A letter")
    assert found.text.strip() == (
        "# Top\n\n### Below\n\nSome text\twith a tab\nand a line\n\n- item\n\n"
        "| a\\|0 | a\\|1 |\n| a\\|2 | a\\|3 |\nafter"
    )


def test_what_was_deleted_and_what_is_there_twice_is_left_out() -> None:
    body = (
        b'<w:p><w:r><w:t>kept </w:t></w:r><w:del w:id="1"><w:r><w:delText>gone</w:delText></w:r>'
        b'</w:del><w:moveFrom w:id="2"><w:r><w:t>moved</w:t></w:r></w:moveFrom>'
        b'<mc:AlternateContent xmlns:mc="m"><mc:Choice><w:r><w:t>once</w:t></w:r></mc:Choice>'
        b"<mc:Fallback><w:r><w:t>twice</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>"
    )
    assert whole(made.bare_docx(body)).text.strip() == "kept once"


def test_footnotes_endnotes_comments_and_links_of_a_docx() -> None:
    document = python_docx.Document()
    paragraph = document.add_paragraph("See")
    run = paragraph.add_run("")
    reference = OxmlElement("w:footnoteReference")
    reference.set(qn("w:id"), "2")
    run._r.append(reference)
    link = OxmlElement("w:hyperlink")
    target = document.part.relate_to("https://site.example/", _kind("hyperlink"), is_external=True)
    link.set(qn("r:id"), target)
    link.append(paragraph.add_run(" the site")._r)
    paragraph._p.append(link)
    document.add_comment(paragraph.runs, text="is it so?", author="A")
    data = made.saved(document)
    for kind, element in (("footnotes", "footnote"), ("endnotes", "endnote")):
        data = _with_notes(data, kind, element)
    assert whole(data).text.strip() == (
        "See[^2][ the site](https://site.example/)\n\n[^2]: the footnote of it\n"
        "[^e2]: the endnote of it\n(comment 0: is it so?)"
    )


def _kind(name: str) -> str:
    return f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{name}"


def _with_notes(data: bytes, kind: str, element: str) -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    notes = (
        f'<w:{kind} xmlns:w="{space}"><w:{element} w:id="0" w:type="separator"><w:p><w:r><w:t>line'
        f'</w:t></w:r></w:p></w:{element}><w:{element} w:id="2"><w:p><w:r><w:t>the {element} of it'
        f"</w:t></w:r></w:p></w:{element}></w:{kind}>"
    )
    relations = made.part(data, "word/_rels/document.xml.rels").decode()
    more = f'<Relationship Id="x{kind}" Type="{_kind(kind)}" Target="{kind}.xml"/></Relationships>'
    relations = relations.replace("</Relationships>", more)
    data = made.with_part(data, f"word/{kind}.xml", notes.encode())
    return made.with_part(data, "word/_rels/document.xml.rels", relations.encode())


def test_an_xlsx_of_openpyxl() -> None:
    rows: list[list[Any]] = [
        ["name", "when", 1.5, 0.1 + 0.2, True, None, "a\tb\nc"],
        [],
        ["=SUM(C1)", MOMENT, date(2026, 5, 6), time(7, 8), timedelta(hours=30), 12345678901],
    ]
    found = whole(made.xlsx({"First": rows, "Second one": [[1]]}))
    assert (found.kind, found.unit, found.total) == ("XLSX", "sheet", 2)
    assert found.text == (
        "--- sheet 1 of 2: First ---\nname\twhen\t1.5\t0.3\tTRUE\t\ta b c\n\n"
        "=SUM(C1)\t2026-01-02 03:04:05\t2026-05-06\t7:08:00\t30:00:00\t12345678901\n\n"
        "--- sheet 2 of 2: Second one ---\n1\n\n"
    )


@pytest.mark.parametrize("from_1904", [False, True])
def test_an_xlsx_of_another_program(from_1904: bool) -> None:
    """With shared strings, results of formulas, hidden sheets, colours, gaps and both calendars."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"date_1904": from_1904})
    sheet = book.add_worksheet("Data")
    colour = book.add_format({"bg_color": "red"})
    day = book.add_format({"num_format": '"day" d. mmmm yyyy'})
    sheet.write_rich_string(0, 0, "two ", book.add_format({"bold": True}), "parts")
    sheet.write_datetime(0, 2, MOMENT, day)
    sheet.write_formula(0, 3, "=1+1", None, 2)
    sheet.write_number(0, 4, 1234.5, book.add_format({"num_format": '#,##0.00 "h"'}))
    for row in range(1, 5):
        sheet.write_blank(row, 0, None, colour)
    sheet.write_string(6, 1, "far")
    sheet.write_blank(900, 0, None, colour)
    book.add_worksheet("Away").hide()
    book.add_chartsheet("Chart")
    book.close()
    assert whole(out.getvalue()).text == (
        "--- sheet 1 of 3: Data ---\ntwo parts\t\t2026-01-02 03:04:05\t2\t1234.5\n"
        "(rows 2 to 6 are empty)\n\tfar\n\n--- sheet 2 of 3: Away (hidden) ---\n\n"
        "--- sheet 3 of 3: Chart ---\n(no cells: it is a chart or a dialog)\n\n"
    )


def test_a_pptx_with_notes_and_a_table() -> None:
    show = Presentation()
    show.core_properties.title = "A show"
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Head"
    slide.placeholders[1].text = "first\nsecond"
    slide.notes_slide.notes_text_frame.text = "say this"
    table = slide.shapes.add_table(1, 2, *[Inches(1)] * 4).table
    table.cell(0, 0).text, table.cell(0, 1).text = "a", "b"
    hidden = show.slides.add_slide(show.slide_layouts[5])
    hidden.shapes.title.text = "Away"
    hidden._element.set("show", "0")
    found = whole(made.saved(show))
    assert (found.kind, found.unit, found.title) == ("PPTX", "slide", "A show")
    assert found.text == (
        "--- slide 1 of 2 ---\n# Head\nfirst\nsecond\n| a | b |\n\nNotes:\nsay this\n\n"
        "--- slide 2 of 2 ---\n(hidden)\n# Away\n\n"
    )


def test_slides_come_in_the_order_in_which_they_are_shown() -> None:
    data = made.pptx([("One", "", ""), ("Two", "", "")])
    name = "ppt/presentation.xml"
    listed = made.part(data, name).decode()
    first, second = ('id="256" r:id="rId7"', 'id="257" r:id="rId8"')
    assert first in listed
    turned = listed.replace(first, "#").replace(second, first).replace("#", second)
    heads = whole(made.with_part(data, name, turned.encode())).text.splitlines()
    assert heads.index("# Two") < heads.index("# One")


def test_a_document_without_pages_has_none_to_ask_for() -> None:
    with pytest.raises(Unreadable, match="no pages of its own"):
        whole(made.docx(), "1")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is no PDF, DOCX, XLSX or PPTX"),
        (b"some text", "it is no PDF, DOCX, XLSX or PPTX"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "of the old form of Word"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
            "protected by a password",
        ),
        (made.pdf([["x"]], password="secret"), "protected by a password"),
        (b"%PDF-1.7 and no more", "it is damaged"),
        (made.docx()[:2_000], "it is damaged"),
        (made.with_part(b"PK\x05\x06" + bytes(18), "a.txt", b"x"), "does not say where it begins"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_such_document_says_what_it_is(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        whole(data)
