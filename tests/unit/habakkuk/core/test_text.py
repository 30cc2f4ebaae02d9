"""Text that can be stored (K28, K29)."""

from __future__ import annotations

import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from habakkuk.core.errors import Invalid
from habakkuk.core.text import clean, clean_json, shorten

# Every code point there is, halves of pairs included.
any_text = st.text(st.characters(codec=None, exclude_categories=()))
any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("dirty", "right"),
    [
        ("a\x00b", "a\ufffdb"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00b", "\ufffdb"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
        ("😀 é \x01 \u2028", "😀 é \x01 \u2028"),
        ("", ""),
    ],
)
def test_nul_and_half_pairs_are_replaced_and_nothing_else(dirty: str, right: str) -> None:
    assert clean(dirty) == right


@given(any_text)
def test_clean_text_can_always_be_encoded_and_stored(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert len(cleaned) == len(text)
    assert clean(cleaned) == cleaned


@given(any_json)
def test_clean_json_can_always_be_written(value: object) -> None:
    cleaned = clean_json(value)
    assert b"\\u0000" not in orjson.dumps(cleaned)
    assert clean_json(cleaned) == cleaned


def test_keys_are_cleaned_too() -> None:
    assert clean_json({"a\x00": [{"b\ud83d": ("c\x00",)}]}) == {
        "a\ufffd": [{"b\ufffd": ["c\ufffd"]}]
    }


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused(number: float) -> None:
    with pytest.raises(Invalid, match="not finite"):
        clean_json({"a": [number]})


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**400])
def test_whole_numbers_that_cannot_be_stored_are_refused(number: int) -> None:
    with pytest.raises(Invalid, match="64 bits"):
        clean_json([number])


def test_json_that_is_too_deep_is_refused() -> None:
    value: list[object] = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(Invalid, match="levels"):
        clean_json(value)


def test_json_of_a_hundred_levels_is_taken() -> None:
    value: list[object] = []
    for _ in range(100):
        value = [value]
    assert orjson.loads(orjson.dumps(clean_json(value))) == value


@pytest.mark.parametrize(
    ("text", "right"),
    [("one\n two\t three", "one two three"), ("abcdef", "abcd…"), ("abcde", "abcde"), (" ", "")],
)
def test_an_excerpt_is_one_short_line(text: str, right: str) -> None:
    assert shorten(text, 5 if text.startswith("a") else 50) == right


def test_a_name_cannot_turn_what_stands_after_it() -> None:
    assert shorten("report\u202efdp.exe\u2066", 50) == "reportfdp.exe"
