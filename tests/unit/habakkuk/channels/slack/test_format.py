"""Markdown as Slack takes it, and where it is cut (cases: K14, K44)."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyromark import events

from habakkuk.channels.messages import Button
from habakkuk.channels.slack.format import (
    blocks,
    notification,
    plain_blocks,
    render,
    shown_length,
)
from habakkuk.delivery.split import split
from tests.fakes import slack_rules

_LIMIT = 12_000
_WORDS = st.sampled_from(
    [
        *[
            "word",
            "naïve",
            "速い茶色",
            "नमस्ते",
            "привет",
            "😀",
            "👨‍👩‍👧‍👦",
            "x" * 90,
            "&",
            "&amp;",
            "&lt;",
        ],
        *["<b>", "</div>", "<name>", "a<b", "<!channel>", "<!here>", "<@U1>", "<#C1|x>"],
        *["<!subteam^S1>", "<!--", "\\<@U1>", "<https://e.example/?a=1&b=2>", "`co<de>`"],
        *["`<@U1>`", "``<!here>``", "`", "**bold**", "*it*", "[a](https://e.example/x)"],
        *["[b](<c> )", "~~del~~", "||", "$5", "\\", "_"],
    ]
)
_BREAKS = st.sampled_from(
    [
        *[" ", " ", "\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n# ", "\n```\n", "\n~~~\n", "\n    "],
        *["\n```py\n<@U1> <!here>\n```\n", "\n<div>\n", "\n| a | b |\n|---|---|\n| 1 | <2 |\n"],
    ]
)
_ANSWERS = st.lists(st.tuples(_WORDS, _BREAKS), min_size=1, max_size=60).map(
    lambda found: "".join(word + after for word, after in found)
)
_FAST = settings(max_examples=500, deadline=None)
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)
# In a block of code that is cut within one, fences stood between its lines.
_HEAD = re.compile(r"^.*\|.*\n\s*\|[-|]+\|$", re.MULTILINE)
_CUT_HEAD = (
    "word word word word word\n```\n<!channel>\n- <!here>\n- word\n| a | b |\n|---|---|\n"
    "| 1 | <2 |\nword word word word\n- "
)
# What calls somebody, or is HTML to a reader of Markdown.
_CALL = re.compile(r"<[@!#]")


def _letters(text: str) -> str:
    """Return what a reader reads: no blanks, and no fences and heads, which parts repeat."""
    return re.sub(r"\s", "", _HEAD.sub("", _FENCE_LINE.sub("", text)))


def _spoken(markdown: str) -> list[tuple[str, str]]:
    """Return the kinds and texts of what is no code, by a reader of Markdown."""
    found, code = [], False
    for event in events(markdown):
        kind, inside = next(iter(event.items())) if isinstance(event, dict) else (event, None)
        if kind in {"Start", "End"} and "CodeBlock" in str(inside):
            code = kind == "Start"
        elif kind in {"Text", "Html", "InlineHtml"} and not code:
            found.append((str(kind), str(inside)))
    return found


@_FAST
@example(_CUT_HEAD, 3, 300)
@given(_ANSWERS, st.integers(1, 3), st.sampled_from([300, 900, _LIMIT]))
def test_the_parts_are_the_text_and_each_fits_as_it_is_sent(
    answer: str, times: int, limit: int
) -> None:
    markdown = answer * times
    parts = split(markdown, limit, shown_length)
    assert _letters("\n".join(parts)) == _letters(markdown)
    assert max(len(render(part)) for part in parts) <= limit


@_FAST
@given(_ANSWERS)
def test_a_block_never_calls_anybody_and_has_no_html(markdown: str) -> None:
    spoken = _spoken(render(markdown))
    assert [text for kind, text in spoken if kind != "Text"] == []


@_FAST
@given(_ANSWERS)
def test_what_is_shown_says_what_was_written(markdown: str) -> None:
    """Read as Markdown, an entity is the character that it stands for."""
    assert render(markdown).replace("&lt;", "<") == markdown.replace("&lt;", "<")


@_FAST
@given(_ANSWERS, st.lists(st.text(max_size=200), max_size=60))
def test_both_forms_of_a_message_are_as_slack_takes_them(markdown: str, labels: list[str]) -> None:
    buttons = [Button(label or "x", f"hb|{n}|0") for n, label in enumerate(labels)]
    text = notification(markdown)
    for form in (blocks(markdown, buttons), plain_blocks(markdown * 40, buttons)):
        asked = {"channel": "D1", "text": text, "blocks": form}
        faults = list(slack_rules.faults_of(asked))
        assert [what for what in faults if "label" not in str(what)] == []
    assert _CALL.search(text) is None


@pytest.mark.parametrize(
    ("markdown", "sent"),
    [
        ("a < b && c > d", "a < b && c > d"),
        ("use <b> and <name>", "use &lt;b> and &lt;name>"),
        ("<!channel> <@U1> <#C1>", "&lt;!channel> &lt;@U1> &lt;#C1>"),
        ("`<@U1>` and ```<!here>```", "`<@U1>` and ```<!here>```"),
        ("```\n<@U1>\n```\n<@U1>", "```\n<@U1>\n```\n&lt;@U1>"),
        ("    <@U1>", "    <@U1>"),
        ("<https://e.example/<x>", "&lt;https://e.example/&lt;x>"),
        ("<https://e.example/x>", "<https://e.example/x>"),
        ("\\<@U1> \\\\<@U1>", "\\<@U1> \\\\&lt;@U1>"),
        # Within HTML there is no code; without it there is.
        ("<div>\n```\n<@U1>\n```", "&lt;div>\n```\n<@U1>\n```"),
        ("速い <@U1>", "速い &lt;@U1>"),
    ],
)
def test_what_would_call_or_vanish_is_shown(markdown: str, sent: str) -> None:
    assert render(markdown) == sent


def test_a_text_without_formatting_is_cut_into_sections() -> None:
    """Slack drops a whole message for a section of 3,001 characters or a 51st block (K14)."""
    made = plain_blocks("x" * 3001, [])
    assert [len(one["text"]["text"]) for one in made] == [3000, 1]
    assert len(plain_blocks("x" * 200_000, [Button("a", "b")])) == 50


def test_what_phones_show_is_one_short_line_that_calls_nobody() -> None:
    assert notification("**a**\n\n<!channel> & b") == "**a** &lt;!channel&gt; &amp; b"
    assert len(notification("x" * 1000)) == 300
