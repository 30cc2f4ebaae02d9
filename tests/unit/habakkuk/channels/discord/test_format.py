"""Markdown as Discord shows it, and where it is cut (cases: K44, K45).

What Discord knows is taken from its help page "Markdown Text 101" and, for mentions and limits,
from its reference ("Message Formatting", "Create Message").
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.channels.discord.format import render, shown_length
from habakkuk.core.text import utf16_units
from habakkuk.delivery.split import split

_LIMIT = 2000
_WORDS = st.sampled_from(
    [
        *["word", "naïve", "速い茶色", "狐が", "नमस्ते", "दुनिया", "привет"],
        *[
            "😀",
            "👨\u200d👩\u200d👧\u200d👦",
            "🏳️\u200d🌈",
            "<b>",
            "a<b",
            "&amp;",
            "&",
            "||",
            "|",
            "~",
        ],
        *["\\", "`", "_", "*", "**", "__", "~~", "<@1>", "<@!12>", "<@&3>", "<#4>", "@everyone"],
        *["@here", "snake_case", "2*3", "**bold**", "__bold__", "*it*", "~del~", "~~del~~"],
        *["`co<@1>de`", "[a](https://e.example/x)", "[b](docs/x.md)", "[r]", "[^1]"],
        *["![p](https://e.example/p.png)", "https://e.example/?a_b=1&b*=2_"],
    ]
)
_BREAKS = st.sampled_from([" ", " ", " ", "\n", "\n\n"])
_BLOCKS = st.sampled_from(
    [
        "\n\n# Head\n\n",
        "\n\n##### Low ##\n\n",
        "\n\nUnder\n===\n\n",
        "\n- item ",
        "\n+ item ",
        "\n  - deep ",
        "\n1) one ",
        "\n> quote ",
        "\n>> deep ",
        "\n\n***\n\n",
        "\n- [ ] to do ",
        "\n-# small ",
        "\n```py\nx = '<@1>' # || 😀\n```\n",
        "\n````md\n```\ninner\n```\n````\n",
        "\n```\n",
        "\n~~~\n",
        "\n\n| a | b |\n|---|---|\n| 1 | 速い |\n\n",
        "\n\n    code\n\n",
        "\n\n[r]: https://e.example/r\n\n",
    ]
)
_ANSWERS = st.lists(st.tuples(_WORDS, _BREAKS | _BLOCKS), min_size=1, max_size=60).map(
    lambda found: "".join(word + after for word, after in found)
)
_WHOLE_BLOCKS = _BLOCKS.filter(lambda block: block not in {"\n```\n", "\n~~~\n"})
_WHOLE_ANSWERS = st.lists(st.tuples(_WORDS, _BREAKS | _WHOLE_BLOCKS), min_size=1, max_size=60).map(
    lambda found: "".join(word + after for word, after in found)
)
_LIMITS = st.sampled_from([300, 700, _LIMIT])
_FAST = settings(max_examples=500, deadline=None)
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)
# In a block of code that is cut within one, fences stood between its lines.
_HEAD = re.compile(r"^.*\|.*\n\s*\|[-|]+\|$", re.MULTILINE)
# How Discord's own program finds code, escapes and mentions, in this order.
_TOKENS = re.compile(
    r"```[\s\S]*?```|(`+)[\s\S]*?[^`]\1(?!`)|<https?://[^\s>]+>|https?://[^\s<]+|\\[^0-9A-Za-z\s]"
    r"|(?P<mention><@[!&]?\d+>|<#\d+>|@everyone|@here)"
)


def _letters(text: str) -> str:
    """Return what a reader reads: no blanks, and no fences and heads, which parts repeat."""
    return re.sub(r"\s", "", _HEAD.sub("", _FENCE_LINE.sub("", text)))


def _mentions(text: str) -> list[str]:
    return [found["mention"] for found in _TOKENS.finditer(text) if found["mention"]]


@_FAST
@given(_ANSWERS, st.integers(1, 3), _LIMITS)
def test_the_parts_are_the_text_and_each_fits_as_it_is_sent(
    answer: str, times: int, limit: int
) -> None:
    markdown = answer * times
    parts = split(markdown, limit, shown_length)
    assert _letters("\n".join(parts)) == _letters(markdown)
    for part in parts:
        assert utf16_units(render(part)) <= limit


@_FAST
@given(_WHOLE_ANSWERS, _LIMITS)
def test_every_block_that_is_opened_is_closed(markdown: str, limit: int) -> None:
    """An odd number would turn the rest of the message into code."""
    for part in split(markdown, limit, shown_length):
        assert render(part).count("```") % 2 == 0, part


@_FAST
@given(_ANSWERS)
def test_nobody_is_mentioned(markdown: str) -> None:
    assert _mentions(render(markdown)) == []


@_FAST
@given(st.lists(_WORDS, min_size=1, max_size=30).map(" ".join))
def test_no_word_is_left_out(markdown: str) -> None:
    shown = render(markdown).replace("\\", "")
    for word in re.findall(r"[^\W_]+", re.sub(r"&amp;", "", markdown)):
        assert word in shown, (word, shown)


@pytest.mark.parametrize(
    ("markdown", "sent"),
    [
        # What Discord knows stays as it was written.
        ("# Title\n\n**b** *i* ~~s~~ `c`", "# Title\n\n**b** *i* ~~s~~ `c`"),
        ("- a\n  - b\n1. c", "- a\n  - b\n1. c"),
        ("[a](https://e.example)", "[a](https://e.example)"),
        ("```py\nx = '**'\n```", "```py\nx = '**'\n```"),
        ("||", "\\|\\|"),
        # What it does not know becomes what it knows.
        ("#### Low", "### Low"),
        ("Title\n=====\ntext", "# Title\ntext"),
        ("Title\n---", "## Title"),
        ("## Title ##", "## Title"),
        ("__bold__ ~gone~", "**bold** ~~gone~~"),
        ("+ a\n+ b", "- a\n- b"),
        ("1) a\n2) b", "1. a\n2. b"),
        ("- [ ] a\n- [x] b", "- ☐ a\n- ☑ b"),
        ("a\n\n***\n\nb", "a\n\n---\n\nb"),
        ("![cat](https://e.example/c.png)", "[cat](https://e.example/c.png)"),
        (
            "[a][r] [r]\n\n[r]: https://e.example/",
            "[a](<https://e.example/>) [r](<https://e.example/>)\n\n[r]: https://e.example/",
        ),
        ("~~~py\nx\n~~~", "```py\nx\n```"),
        ("    x\n    y\n", "    ```\nx\ny\n```\n"),
        (">x\n>> y", "> x\n> y"),
        ("> ~~~\n> x\n> ~~~", "> ```\n> x\n> ```"),
        ("a\\\nb", "a\nb"),
        ("&lt;b&gt; &amp; &eacute;", "\\<b\\> \\& é"),
        (
            "| a | b |\n|---|---|\n| 1 | 速い |",
            "```\na | b\n--+-----\n1 | 速い\n```",
        ),
        # What it would take for a mark is text, and stays it.
        ("**kw and *more", "\\*\\*kw and \\*more"),
        ("snake_case and __init", "snake_case and \\_\\_init"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("a || b || c", "a \\|\\| b \\|\\| c"),
        ("-# small", "\\-# small"),
        ("https://e.example/_a_/__b", "https://e.example/_a_/__b"),
        ("\\*not\\*", "\\*not\\*"),
        # Nobody is called.
        ("@everyone <@1> <@!1> <@&2> <#3>", "\\@everyone \\<@1> \\<@!1> \\<@&2> \\<#3>"),
        ("`<@1>` a@here.example", "`<@1>` a\\@here.example"),
        ("[a](<@1>) https://e.example<@1>", "[a](\\<@1>) https://e.example \\<@1>"),
        ("&lt;@1&gt;", "\\<@1\\>"),
    ],
)
def test_it_is_sent_as_discord_shows_it(markdown: str, sent: str) -> None:
    assert render(markdown) == sent


def test_a_block_within_a_block_of_code_does_not_end_it() -> None:
    shown = render("````md\n```py\nx\n```\n````")
    assert shown.count("```") == 2
    assert shown.startswith("```md\n")
    assert "x" in shown
