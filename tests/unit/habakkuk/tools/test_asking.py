"""Questions as text, and what an answer means."""

from __future__ import annotations

import pytest

from habakkuk.tools.asking import in_words, meant

COLOUR = {"question": "Which colour?", "choices": ["red", "green"]}
SIZE = {"question": "Which size?", "choices": []}


def test_one_question_is_told_with_lettered_choices() -> None:
    assert in_words([COLOUR]) == "Which colour?\n   A. red\n   B. green"


def test_several_are_numbered() -> None:
    assert in_words([SIZE, COLOUR]) == (
        "1. Which size?\n\n2. Which colour?\n   A. red\n   B. green"
    )


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("b", "B. green"),
        (" A. ", "A. red"),
        ("B)", "B. green"),
        ("c", "c"),
        ("be", "be"),
        ("", ""),
        ("red", "red"),
    ],
)
def test_a_letter_alone_is_its_choice(said: str, read: str) -> None:
    assert meant([COLOUR], said) == read


def test_a_letter_among_several_questions_is_left_to_the_agent() -> None:
    assert meant([COLOUR, SIZE], "a") == "a"
