"""Markdown as a page in a mail: known marks alone, and every word."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.channels.email.render import page

_KNOWN = {
    *(
        "html",
        "head",
        "meta",
        "body",
        "p",
        "a",
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "blockquote",
        "em",
    ),
    *("strong", "del", "table", "tr", "th", "td", "hr", "br", "h1", "h2", "h3", "h4", "h5", "h6"),
}
_VOID = {"meta", "hr", "br"}


class _Strict(HTMLParser):
    """Reads a page as strictly as can be: every element closed in its order, nothing unknown."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _KNOWN
        assert {name for name, _ in attrs} <= {"href", "dir", "style", "start", "charset"}
        self.targets += [value or "" for name, value in attrs if name == "href"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def _shown(markdown: str) -> _Strict:
    reading = _Strict()
    reading.feed(page(markdown))
    reading.close()
    assert reading.open == []
    return reading


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("**a** *b* ~~c~~ `d<e`", "<strong>a</strong> <em>b</em> <del>c</del> <code>d&lt;e</code>"),
        ("# Title", '<h1 dir="auto">Title</h1>'),
        ("1. a\n2. b", '<ol start="1">\n<li dir="auto">a</li>'),
        ("- [x] a", "\N{BALLOT BOX WITH CHECK} a"),
        ("```py\nx < 1\n```", "<code>x &lt; 1\n</code>"),
        ("> q", '<blockquote>\n<p dir="auto">q</p>'),
        ("|a|\n|-|\n|1|", ">a</th></tr>\n<tr><td"),
        (
            '[a](https://e.example/?a=1&b="2)',
            '<a href="https://e.example/?a=1&amp;b=&quot;2">a</a>',
        ),
        ("a  \nb", "a<br>\nb"),
    ],
)
def test_marks_are_shown(markdown: str, html: str) -> None:
    assert html in page(markdown)
    _shown(markdown)


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        "a <b onclick=x>b</b>",
        "<!-- c -->",
        "<div>\nx\n</div>",
        "<?x?>",
    ],
)
def test_html_is_text(markdown: str) -> None:
    words = markdown.replace("\n", "")
    assert words in _shown(markdown).text.replace("\n", "")


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "data:text/html,x", "//e.example", "http://["]
)
def test_a_link_that_leads_to_no_web_address_is_its_words(target: str) -> None:
    shown = _shown(f"[words]({target})")
    assert (shown.targets, shown.text.strip()) == ([], "words")


def test_a_picture_is_a_link() -> None:
    shown = _shown("![words](https://e.example/p.png)")
    assert shown.targets == ["https://e.example/p.png"]


_WORDS = [
    "word",
    "naïve",
    "速い茶色",
    "привет",
    "नमस्ते",
    "😀",
    "👨‍👩‍👧",
    "a<b",
    "&amp;",
    "<b>",
    "</div>",
    '"x"',
]
_MARKS = re.findall(
    r"\S+", "** * ~~ ` ``` [ ](https://e.example) | # - > 1. <!-- --> <script> \\ [^1]: |-| ---"
)
_PIECES = st.sampled_from([*_WORDS, *_MARKS, "\n", "\n\n", " ", "    "])


@settings(max_examples=500, deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join))
def test_every_page_is_whole_and_has_nothing_unknown(markdown: str) -> None:
    shown = _shown(markdown)
    assert all(re.match(r"https?:|mailto:", target) for target in shown.targets)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(_WORDS[:8]), min_size=1, max_size=20))
def test_every_word_is_shown(words: list[str]) -> None:
    assert " ".join(words) in _shown(" ".join(words)).text


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_shown(text: str) -> None:
    _shown(text)
