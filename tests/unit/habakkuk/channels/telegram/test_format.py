"""Markdown as Telegram shows it, and where it is cut (cases: K44, K45)."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.channels.telegram.format import render, shown_length
from habakkuk.core.text import utf16_units
from habakkuk.delivery.split import split

_LIMIT = 4096
_WORDS = st.sampled_from(
    [
        *[
            "word",
            "naïve",
            "速い茶色",
            "狐が",
            "नमस्ते",
            "दुनिया",
            "привет",
            "😀",
            "👨‍👩‍👧‍👦",
            "🏳️‍🌈",
            "x" * 90,
        ],
        *[
            "<b>",
            "</div>",
            "<name>",
            "a<b",
            "&amp;",
            "&",
            "||",
            "|",
            "$5",
            "5$/6$",
            "~",
            "\\",
            "`",
            "_",
        ],
        *["**bold**", "*it*", "`co<de>`", "[a](https://e.example/x)", "[b](docs/x.md)", "~~del~~"],
        *[
            "![p](https://e.example/p.png)",
            "[r]",
            "[^1]",
            "https://e.example/?a=1&b=2",
            "<!-- c -->",
        ],
    ]
)
_BREAKS = st.sampled_from([" ", " ", " ", "\n", "\n\n"])
_BLOCKS = st.sampled_from(
    [
        *[
            "\n\n# Head\n\n",
            "\n- item ",
            "\n  - deep ",
            "\n1. one ",
            "\n> quote ",
            "\n\n---\n\n",
            "\n- [ ] to do ",
        ],
        *[
            "\n```py\nx = '<a>' # || 😀\n```\n",
            "\n```\n",
            "\n~~~\n",
            "\n\n| a | b |\n|---|---|\n| 1 | 速い |\n\n",
        ],
        *[
            "\n\n<div>\n<p>\n",
            "\n\n    code\n\n",
            "\n\n[r]: https://e.example/r\n\n",
            "\n\n[u]: later\n\n",
        ],
    ]
)
_ANSWERS = st.lists(st.tuples(_WORDS, _BREAKS | _BLOCKS), min_size=1, max_size=60).map(
    lambda found: "".join(word + after for word, after in found)
)
_LIMITS = st.sampled_from([300, 700, _LIMIT])
_FAST = settings(max_examples=500, deadline=None)
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)
# In a block of code that is cut within one, fences stood between its lines.
_HEAD = re.compile(r"^.*\|.*\n\s*\|[-|]+\|$", re.MULTILINE)


def _parts(markdown: str, limit: int) -> list[str]:
    return split(markdown, limit, partial(shown_length, limit=limit))


def _letters(text: str) -> str:
    """Return what a reader reads: no blanks, and no fences and heads, which parts repeat."""
    return re.sub(r"\s", "", _HEAD.sub("", _FENCE_LINE.sub("", text)))


@_FAST
@given(_ANSWERS, st.integers(1, 3), _LIMITS)
def test_the_parts_are_the_text_and_each_fits_as_it_is_shown(
    answer: str, times: int, limit: int
) -> None:
    markdown = answer * times
    parts = _parts(markdown, limit)
    assert _letters("\n".join(parts)) == _letters(markdown)
    for part in parts:
        shown = render(part, limit)
        assert utf16_units(shown.text) <= limit
        assert utf16_units(shown.plain) <= limit


@_FAST
@given(_ANSWERS)
def test_entities_stand_on_whole_characters_within_the_text(markdown: str) -> None:
    shown = render(markdown, _LIMIT)
    whole = shown.text.encode("utf-16-le")
    for entity in shown.entities:
        end = entity.offset + entity.length
        assert entity.length > 0
        assert end <= len(whole) // 2
        whole[2 * entity.offset : 2 * end].decode("utf-16-le")


@_FAST
@given(
    # Between dollars may stand a formula, of which "^1" becomes "¹".
    st.lists(_WORDS.filter(lambda word: "$" not in word), min_size=1, max_size=30).map(" ".join)
)
def test_no_word_is_left_out(markdown: str) -> None:
    shown = render(markdown, 10**6)
    seen = shown.text + " ".join(entity.url or "" for entity in shown.entities)
    for word in re.findall(r"[^\W_]+", re.sub(r"&amp;", "", markdown)):
        assert word in seen, (word, shown.text)


@_FAST
@given(_ANSWERS)
def test_what_it_says_to_be_long_is_no_longer(markdown: str) -> None:
    assert utf16_units(render(markdown, _LIMIT).text) <= shown_length(markdown, _LIMIT)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# Title\n\ntext", "Title\n\ntext"),
        ("- a\n- b", "• a\n• b"),
        ("use <b> and <name>", "use <b> and <name>"),
        ("<div>\n\nx\n</div>", "<div>\n\nx\n</div>"),
        ("a || b || c", "a || b || c"),
        ("US$5/US$6", "US$5/US$6"),
        ("from $5 to 6$ or A$7–C$", "from $5 to 6$ or A$7–C$"),
        ("$a^2 = b$", "a² = b"),
        ("[TODO]: later", "[TODO]: later"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        # It would call a person, whom an outsider's words may have named.
        ("[x](tg://user?id=1)", "[x](tg://user?id=1)"),
        ("[x](TG:user?id=1)", "[x](TG:user?id=1)"),
        ("a [](https://e.example) b", "a [](https://e.example) b"),
        ("a < b && c > d", "a < b && c > d"),
        ("```py\n", "```py\n"),
        ("| a || b |\n|-|-|-|\n| 1 || 2 |", "a |  | b\n--+--+--\n1 |  | 2"),
    ],
)
def test_what_was_written_is_shown(markdown: str, text: str) -> None:
    assert render(markdown, _LIMIT).text.strip("\n") == text.strip("\n")


def test_marks_become_entities() -> None:
    shown = render("😀 **bold** [link](https://e.example) `code`\n```py\nx\n```", _LIMIT)
    found = {entity.type: entity for entity in shown.entities}
    assert set(found) == {"bold", "text_link", "code", "pre"}
    assert (found["bold"].offset, found["bold"].length) == (3, 4)
    assert found["text_link"].url == "https://e.example"
    assert found["pre"].language == "py"


def test_links_and_code_stay_when_there_are_more_marks_than_telegram_takes() -> None:
    shown = render("**b** " * 120 + "[a](https://e.example) `c`", _LIMIT)
    assert len(shown.entities) == 100
    assert {"text_link", "code"} <= {entity.type for entity in shown.entities}
    assert [entity.offset for entity in shown.entities] == sorted(
        entity.offset for entity in shown.entities
    )


def test_without_formatting_the_markdown_itself_is_sent_where_it_fits() -> None:
    assert render("**a**", 5).plain == "**a**"
    assert render("**a**", 4).plain == "a"


def test_html_without_end_is_shown_as_it_is() -> None:
    nested = "".join(f"<d{n}>\n" for n in range(400))
    assert render(nested, 10**6).text.split() == nested.split()
