from __future__ import annotations

import subprocess
import sys

import pytest

from habakkuk.core.errors import ToolError
from habakkuk.core.http import Fetched
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.pages import Page, readable

ARTICLE = """<!doctype html><html><head><title> A  title
of two lines </title><script>evil()</script><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a></nav><article><h1>Heading</h1>
<p>First paragraph with <a href="https://example.com/x">a link</a> and <b>bold</b> words in it.</p>
<ul><li>one thing</li><li>another thing</li></ul>
<p>Second paragraph that is long enough to be taken for the text of an article by everybody.</p>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
</article><footer>Imprint</footer></body></html>"""


def page(body: bytes, kind: str = "text/html") -> Page:
    return readable(Fetched("http://site.example/x", 200, kind, body, cut=False), Interrupt())


def test_a_page_becomes_markdown_with_links_and_without_scripts() -> None:
    found = page(ARTICLE.encode())
    assert "[a link](https://example.com/x)" in found.text
    assert "# Heading" in found.text
    assert "- one thing" in found.text
    assert "evil" not in found.text
    assert "color" not in found.text


def test_the_title_is_one_line() -> None:
    assert page(ARTICLE.encode()).title == "A title of two lines"


def test_a_table_stays_a_table() -> None:
    assert "| 1 | 2 |" in page(ARTICLE.encode()).text


@pytest.mark.parametrize(
    "source",
    ["<p>few words</p>", "few words", "<div><div>few words", "<html><body>few words</body></html>"],
)
def test_a_page_without_an_article_gives_its_words(source: str) -> None:
    assert "few words" in page(source.encode()).text


@pytest.mark.parametrize("source", ["", " ", "<html></html>", "<!-- only this -->", "<", "<<<>>>"])
def test_an_empty_page_gives_little_and_no_error(source: str) -> None:
    assert len(page(source.encode()).text) < 20


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("text/plain", b"plain", "plain"),
        ("text/plain; charset=iso-8859-2", "žluť".encode("iso-8859-2"), "žluť"),
        ("text/plain; charset=nonsense", b"plain", "plain"),
        ("text/plain; charset=base64", b"plain", "plain"),
        ("text/plain; charset=Windows-1251", "да".encode("cp1251"), "да"),
        ("text/plain; charset=Shift_JIS", "日本".encode("shift_jis"), "日本"),
        # Codecs of Python that are no character sets; the first takes the square of the length.
        ("text/plain", "žluť".encode("utf-16"), "žluť"),
        ("text/plain; charset=utf-8", b"\xfe\xff" + "žluť".encode("utf-16-be"), "žluť"),
        ("text/plain; charset=punycode", b"a-b", "a-b"),
        ("text/plain; charset=idna", b"xn--a", "xn--a"),
        ("text/plain; charset=unicode_escape", rb"\u0041", r"\u0041"),
        ("text/plain; charset=utf-7", b"+AEE-", "+AEE-"),
        ("text/csv", b"a,b", "a,b"),
        ("text/markdown", b"# x", "# x"),
        ("application/json", b'{"a":[1,"\xc3\xa9"]}', '{"a":[1,"é"]}'),
        ("application/ld+json", b"[1]", "[1]"),
        ("application/json", b"{broken", "{broken"),
        ("application/atom+xml", b"<feed/>", "<feed/>"),
        ("", b"plain", "plain"),
        ("application/octet-stream", "žluť".encode(), "žluť"),
        ("TEXT/PLAIN", b"plain", "plain"),
    ],
)
def test_texts_come_as_they_are(kind: str, body: bytes, expected: str) -> None:
    assert page(body, kind).text == expected


def test_a_page_that_names_its_encoding_inside() -> None:
    body = '<meta charset="windows-1250"><p>žluťoučký kůň je hezký</p>'.encode("windows-1250")
    assert "žluťoučký kůň" in page(body).text


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("image/png", b"\x89PNG"),
        ("application/pdf", b"%PDF"),
        ("application/zip", b"PK"),
        ("video/mp4", b""),
        ("application/octet-stream", b"\x00\x01\x02"),
        ("", b"\xff\xfe\xfd"),
    ],
)
def test_what_is_no_text_is_refused_by_its_kind(kind: str, body: bytes) -> None:
    with pytest.raises(ToolError, match=r"not text.*pages, texts and JSON"):
        page(body, kind)


def test_a_character_cut_in_two_still_lets_a_text_be_known() -> None:
    assert page("é".encode() * 1500, "").text == "é" * 1500


def test_text_that_cannot_be_stored_is_cleaned() -> None:
    assert page(b"a\x00b", "text/plain").text == "a\ufffdb"


@pytest.mark.parametrize(
    "source",
    ["<script" * 300_000, "<" * 2_000_000, "<div>" * 300_000, "<title" * 300_000, "&amp" * 500_000],
    ids=lambda source: source[:7],
)
def test_a_hostile_page_is_an_answer_or_an_error(source: str) -> None:
    """In a program of its own, which limits bound; the worker goes on meanwhile."""
    assert len(_text_or_error(source)) <= len(source)


def _text_or_error(source: str) -> str:
    try:
        return page(source.encode()).text
    except ToolError as error:
        return str(error)


def test_an_interrupt_ends_the_reading() -> None:
    interrupt = Interrupt()
    interrupt.trip(Reason.CANCELLED)
    with pytest.raises(Interrupted):
        readable(Fetched("http://x/", 200, "text/html", b"<p>x</p>", cut=False), interrupt)


def test_the_parser_is_not_loaded_by_what_uses_it() -> None:
    program = "import sys, habakkuk.tools.core.fetch_url; print('lxml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"False\n"
