"""Which pages are asked for, as people and models write it."""

from __future__ import annotations

import pytest

from habakkuk.documents.selection import check, chosen, told
from habakkuk.documents.types import Unreadable


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [1, 2, 3, 4, 5]),
        (" ", [1, 2, 3, 4, 5]),
        ("3", [3]),
        ("2-4", [2, 3, 4]),
        ("4-", [4, 5]),
        ("1, 4 - 5", [1, 4, 5]),
        ("5,1", [5, 1]),
        ("1-3,2-4", [1, 2, 3, 4]),
    ],
)
def test_pages_are_asked_for_by_numbers_and_ranges(text: str, numbers: list[int]) -> None:
    assert list(chosen(text, 5, "page")) == numbers


@pytest.mark.parametrize(
    "text", ["0", "-2", "4-2", "a", "1..3", "1,,2", "1;2", "١", "1" * 8, "1-2-3"]
)
def test_what_is_no_selection_says_what_is_one(text: str) -> None:
    with pytest.raises(Unreadable, match='such as "3", "3-5"'):
        check(text)


@pytest.mark.parametrize("text", ["6", "4-6", "6-", "1,9999999"])
def test_a_page_that_is_not_there_is_named(text: str) -> None:
    with pytest.raises(Unreadable, match=r"it has 5 pages; there is no page (6|9999999)"):
        chosen(text, 5, "page")


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([1, 2, 3], "1-3"), ([5, 1, 2, 9], "5,1-2,9")]
)
def test_what_was_chosen_is_told_as_it_is_asked_for(numbers: list[int], text: str) -> None:
    assert told(numbers) == text
