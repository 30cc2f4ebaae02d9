"""The cache of what was made of files."""

from __future__ import annotations

from habakkuk.llm.media.kept import Kept, LeftOut, Whole
from habakkuk.llm.types import Payload

BIG = Payload("image/png", b"x" * 1000)


def test_what_was_used_longest_ago_goes_first() -> None:
    kept = Kept(3000)
    kept.put("a", BIG)
    kept.put("b", BIG)
    kept.get("a")
    kept.put("c", BIG)
    assert kept.get("b") is None
    assert kept.get("a") == BIG


def test_a_reason_is_held_too() -> None:
    kept = Kept(1000)
    kept.put("a", LeftOut("too big"))
    assert kept.get("a") == LeftOut("too big")


def test_what_is_larger_than_all_is_not_held_and_costs_nobody_a_place() -> None:
    kept = Kept(1300)
    kept.put("a", BIG)
    kept.put("b", Payload("image/png", b"x" * 2000))
    assert kept.get("a") == BIG
    assert kept.get("b") is None


def test_held_anew_a_result_counts_once() -> None:
    kept = Kept(2500)
    for _ in range(10):
        kept.put("a", BIG)
    kept.put("b", BIG)
    assert kept.get("a") == BIG


def test_that_a_file_goes_as_it_is_takes_next_to_no_place() -> None:
    kept = Kept(2500)
    kept.put("a", BIG)
    kept.put("b", Whole("image/png"))
    assert kept.get("a") == BIG
    assert kept.get("b") == Whole("image/png")
