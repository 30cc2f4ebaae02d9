"""Where an answer is cut so that a platform takes it (cases: K44, K45)."""

from __future__ import annotations

import re
import time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from habakkuk.channels.contract import Unit, length
from habakkuk.delivery.split import split

_UNITS = st.sampled_from(Unit)
_NO_FENCE = st.characters(codec="utf-8", exclude_characters="`~")
_FENCED = st.lists(
    st.sampled_from(
        ["word ", "two words. ", "\n", "\n\n", "```py\n", "```\n", "~~~\n", "x" * 37, "😀", "é"]
    ),
    max_size=60,
).map("".join)


@given(st.text(max_size=400) | _FENCED, st.integers(40, 120), _UNITS)
def test_no_part_is_longer_than_the_platform_takes(text: str, limit: int, unit: Unit) -> None:
    measure = partial(length, unit=unit)
    assert all(measure(part) <= limit for part in split(text, limit, measure))


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="`~|"), max_size=400),
    st.integers(20, 120),
    _UNITS,
)
def test_nothing_but_blanks_at_the_breaks_is_lost(text: str, limit: int, unit: Unit) -> None:
    parts = split(text, limit, partial(length, unit=unit))
    whole = re.sub(r"\s", "", "".join(parts))
    assert whole == re.sub(r"\s", "", text)


@given(_FENCED, st.integers(60, 200))
def test_every_fence_that_a_part_opens_it_closes(text: str, limit: int) -> None:
    closed = text + "\n~~~\n```\n~~~\n```\n"
    parts = split(closed, limit)
    for part in parts[:-1]:
        opened = None
        for line in part.splitlines():
            marks = re.match(r"^ {0,3}(`{3,}|~{3,})([^`]*)$", line)
            if marks and opened is None:
                opened = marks[1][0]
            elif marks and marks[1][0] == opened and not marks[2].strip():
                opened = None
        assert opened is None, part


_HEAD = "| name | size |\n|------|-----:|\n"
_ROWS = st.lists(st.text("ab1 ", min_size=1, max_size=12), min_size=1, max_size=40)


@given(_ROWS, st.integers(120, 200))
def test_a_table_that_is_cut_has_its_head_in_each_part(rows: list[str], limit: int) -> None:
    written = [f"| {row} | 1 |\n" for row in rows]
    parts = split("Look:\n\n" + _HEAD + "".join(written) + "\nDone.", limit)
    for part in parts:
        lines = part.splitlines()
        places = [n for n, line in enumerate(lines) if line.startswith("|") and "1 |" in line]
        if places:
            assert "\n".join(lines[places[0] - 2 : places[0]]) == _HEAD.rstrip()
    # Without the heads that were added the parts are the text.
    assert [row for row in "\n".join(parts).splitlines() if "1 |" in row] == [
        row.rstrip("\n") for row in written
    ]


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("a | b\n--- | ---", "1 | 2"),
        ("> | a | b |\n> | :-: | - |", "> | 1 | 2 |"),
        ("words before\n| a |\n|---|", "| 1 |"),
    ],
)
def test_tables_of_other_forms_are_known_too(head: str, row: str) -> None:
    parts = split(head + f"\n{row}" * 40, 120)
    repeated = "\n".join(head.splitlines()[-2:])
    assert len(parts) > 2
    assert all(part.startswith(f"{repeated}\n{row}") for part in parts[1:])


@pytest.mark.parametrize(
    "text",
    [
        # The rows are too long to stay whole, no table, over before the cut, and code.
        "| a |\n|---|\n" + "x" * 100 + " | " + "y" * 100,
        "a | b\n" * 30,
        "| a |\n|---|\n| 1 |\n\n" + "word " * 40,
        "```\n| a |\n|---|\n" + "| 1 |\n" * 30 + "```",
        "    | a |\n    |---|\n" + "    | 1 |\n" * 30,
    ],
)
def test_what_is_no_table_at_the_cut_gets_no_head(text: str) -> None:
    head = "|---|"
    assert "\n".join(split(text, 60)).count(head) == text.count(head)


def test_a_head_goes_with_its_first_row() -> None:
    assert split(f"{'word ' * 9}\n\n| a |\n|---|\n| 1234567 |", 60) == [
        ("word " * 9).rstrip(),
        "| a |\n|---|\n| 1234567 |",
    ]


def test_a_head_that_fills_a_part_is_not_repeated() -> None:
    text = f"| {'wide ' * 10}|\n|---|\n" + "| 1 |\n" * 30
    assert sum("wide" in part for part in split(text, 90)) == 1


@pytest.mark.parametrize("begins", ["|-", ">"])
def test_a_row_of_endless_blanks_takes_no_time(begins: str) -> None:
    """In place of a table's second line: a model may be told to write it."""
    text = "a | b\n" + begins + " " * 50_000 + "x|\n" + "c | d\n" * 10_000
    began = time.process_time()
    assert len(split(text, 60_000)) == 2
    assert time.process_time() - began < 5


def test_what_fits_is_left_as_it_is() -> None:
    assert split("  a \n\n b  ", 100) == ["  a \n\n b  "]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("one two three\n\nfour five six", ["one two three", "four five six"]),
        ("one two three\nfour five six", ["one two three", "four five six"]),
        ("One two three. Four five six.", ["One two three.", "Four five six."]),
        ("one two three four five six", ["one two three four", "five six"]),
        ("a" * 25, ["a" * 20, "a" * 5]),
    ],
)
def test_it_cuts_where_a_reader_expects_it(text: str, parts: list[str]) -> None:
    assert split(text, 20) == parts


def test_a_fence_that_is_cut_is_opened_again_with_its_name() -> None:
    code = "```python\n" + "\n".join(f"line_{n} = {n}" for n in range(6)) + "\n```"
    first, second, *_ = split(code, 50)
    assert first.startswith("```python\n")
    assert first.endswith("\n```")
    assert second.startswith("```python\nline_")


@pytest.mark.parametrize(
    ("before", "opening", "lead"),
    [
        ("1. Do:\n", "   ```python", "   "),
        ("10. Do:\n", "    ```python", "    "),
        ("- Do:\n  - this:\n", "      ```python", "      "),
        ("", "- ```python", "  "),
    ],
)
def test_a_fence_in_a_list_is_cut_as_one(before: str, opening: str, lead: str) -> None:
    """The item ends with the part: what stands in the next must not be read as its text."""
    code = [f"  __x_{n}__ = {n}" for n in range(12)]
    lines = [f"{before}{opening}", *(f"{lead}{line}" for line in code), f"{lead}```", "Done."]
    first, *more = split("\n".join(lines), 80)
    assert first.endswith(f"\n{lead}```")
    assert all(part.startswith("```python\n  __x_") for part in more[:-1])
    assert more[-1].endswith("\n```\nDone.")


def test_a_fence_in_a_quote_is_opened_in_a_quote() -> None:
    code = "> ```python\n" + "\n".join(f"> __x_{n}__" for n in range(12)) + "\n> ```\n\nDone."
    first, second, *_ = split(code, 60)
    assert first.endswith("\n> ```")
    assert second.startswith("> ```python\n> __x_")


def test_marks_within_code_end_no_block() -> None:
    """Far to the right they are text of the block, as in a docstring that shows one."""
    code = "```python\n" + "a\n" * 20 + "        ```\n" + "b\n" * 20 + "```"
    assert all(part.startswith("```python\n") for part in split(code, 50))


def test_an_emoji_of_several_characters_stays_whole() -> None:
    family = "👨‍👩‍👧‍👦"
    assert "".join(split("x" * 18 + family + "y", 20)) == "x" * 18 + family + "y"
    assert any(family in part for part in split("x" * 18 + family + "y", 20))


def test_lengths_are_counted_as_the_platform_counts() -> None:
    assert [length("😀é", unit) for unit in Unit] == [2, 3, 6]
