from __future__ import annotations

import errno
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from habakkuk.core.errors import ToolError
from habakkuk.tools.budget import RESULT_BUDGET, STEP_BUDGET, fit
from habakkuk.tools.contract import ToolOutput

# What the note about the middle adds to a shortened text.
NOTE = 300


class Keeper:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.outside: bool | None = None

    def __call__(self, text: str, *, outside: bool) -> str:
        self.outside = outside
        handle = f"handle-{len(self.texts)}"
        self.texts[handle] = text
        return handle


def fitted(*texts: str) -> tuple[list[str], Keeper]:
    keeper = Keeper()
    return [output.text for output in fit([ToolOutput(text) for text in texts], keeper)], keeper


def test_what_fits_stays_as_it_is() -> None:
    texts, keeper = fitted("a" * RESULT_BUDGET, "b")
    assert texts == ["a" * RESULT_BUDGET, "b"]
    assert keeper.texts == {}


def test_no_outputs_are_no_outputs() -> None:
    assert fit([], Keeper()) == ()


def test_a_long_one_is_kept_whole_and_shown_by_head_and_tail() -> None:
    whole = "".join(f"{number:07d}\n" for number in range(10_000))
    (text,), keeper = fitted(whole)
    assert list(keeper.texts.values()) == [whole]
    assert text.startswith("0000000\n0000001\n")
    assert text.endswith("0009998\n0009999\n")
    assert len(text) <= RESULT_BUDGET + NOTE


def test_the_note_says_how_to_read_on_exactly_where_the_head_ends() -> None:
    whole = "".join(f"{number:07d}\n" for number in range(10_000))
    (text,), _ = fitted(whole)
    found = re.search(r'handle "(handle-0)" and offset (\d+) reads on', text)
    assert found is not None
    assert text.startswith(whole[: int(found[2])] + "\n[…")
    assert f"{80_000 - RESULT_BUDGET} of 80000 characters left out" in text


def test_a_step_shares_its_budget() -> None:
    texts, keeper = fitted(*["x" * RESULT_BUDGET] * 10)
    assert sum(map(len, texts)) <= STEP_BUDGET + 10 * NOTE
    assert len(keeper.texts) == 10


def test_small_results_are_not_cut_for_large_ones() -> None:
    texts, _ = fitted("s" * 9_000, *["x" * 1_000_000] * 5, "t" * 2_000)
    assert texts[0] == "s" * 9_000
    assert texts[-1] == "t" * 2_000
    assert len(set(map(len, texts[1:-1]))) == 1
    assert 17_000 < len(texts[1]) < 18_500


@pytest.mark.parametrize("outside", [True, False])
def test_what_is_known_of_an_output_stays_known(outside: bool) -> None:
    keeper = Keeper()
    (output,) = fit([ToolOutput("e" * 100_000, is_error=True, outside=outside)], keeper)
    assert (output.is_error, output.outside) == (True, outside)
    assert keeper.outside is outside


def test_the_same_step_is_cut_alike_again() -> None:
    texts = ["a" * 50_000, "b" * 80_000, "c"]
    assert fitted(*texts)[0] == fitted(*texts)[0]


@given(st.lists(st.integers(0, 200_000), max_size=40))
def test_every_result_has_its_share_and_the_step_its_limit(lengths: list[int]) -> None:
    texts, _ = fitted(*("x" * length for length in lengths))
    assert all(len(text) <= RESULT_BUDGET + NOTE for text in texts)
    assert sum(map(len, texts)) <= max(STEP_BUDGET, 1_000 * len(texts)) + NOTE * len(texts)
    assert all(len(text) >= min(length, 1_000) for text, length in zip(texts, lengths, strict=True))


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "could not be kept: no space left on"),
        (ToolError("there is no place to keep it"), "there is no place to keep it"),
    ],
)
def test_a_result_that_cannot_be_kept_is_still_given(failure: Exception, said: str) -> None:
    """A full disk must not make a call that happened read as if nobody knew."""

    def keep(text: str, *, outside: bool) -> str:
        raise failure

    (output,) = fit([ToolOutput("a" * 100_000)], keep)
    assert output.text.startswith("aaa")
    assert said in output.text
    assert len(output.text) <= RESULT_BUDGET + NOTE
