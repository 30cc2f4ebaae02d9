"""The program that turns pages, from inside; test_pages runs it as it is run."""

from __future__ import annotations

import pytest

from habakkuk.tools import markdown


def turned(source: str) -> dict[str, str]:
    return markdown.turned(source, "https://site.example/")


def test_text_and_title_of_a_page() -> None:
    source = "<html><title>A &amp; B</title><body><p>Some words.</p></body></html>"
    assert turned(source) == {"text": "Some words.", "title": "A & B"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("one <b>two</b> three", "one two three"),
        ("a<script>x()</script>b", "a b"),
        ("a<STYLE type=x>y</STYLE >b", "a b"),
        ("a<script>never ends", "a"),
        ("a<script>x</script><script>y</script>b", "a b"),
        ("a<!-- comment with <b>tags</b> -->b", "a b"),
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("  a  \n\n\n  b  ", "a\nb"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_a_piece_without_an_article_gives_its_words(
    source: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trafilatura.extract", lambda *_, **__: None)
    assert turned(source)["text"] == text


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title>\n a \n b </title>", "a b"),
        ("<TITLE lang=en>a</TITLE>", "a"),
        ("<titles>a</titles>", ""),
        ("no title", ""),
        (f"<title>{'x' * 900}</title>", "x" * 300),
    ],
)
def test_a_title_is_one_short_line(source: str, title: str) -> None:
    assert turned(source)["title"] == title
