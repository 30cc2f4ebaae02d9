"""Counts of tokens."""

from __future__ import annotations

import pytest

from habakkuk.llm.counting import exact_count


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\U00010348" * 120_000], ids=["word", "rare"])
def test_a_text_of_any_length_is_counted(text: str) -> None:
    count = exact_count()
    assert count(text) == pytest.approx(len(text) / 1000 * count(text[:1000]), rel=0.01)


def test_short_texts_are_counted_as_the_vocabulary_has_them() -> None:
    # https://platform.openai.com/tokenizer, o200k_base.
    assert exact_count()("hello world") == 2
