"""What a button's data says, and what is none of ours."""

from __future__ import annotations

import pytest

from habakkuk.agent import buttons
from habakkuk.agent.approval.types import Answer
from habakkuk.core.ids import derive

WAIT = derive("approval", "turn", "call")


def test_a_button_names_its_prompt_and_its_answer() -> None:
    made = dict(buttons.of_approval(WAIT, may_repeat=True))
    answers = [buttons.read(data) for data in made.values()]
    assert [pressed.answer for pressed in answers if pressed] == [*Answer]
    assert {pressed.nonce for pressed in answers if pressed} == {WAIT.removeprefix("approval_")}
    assert all(len(data.encode()) <= 64 for data in made.values())


def test_the_session_is_offered_where_it_can_be_allowed() -> None:
    made = dict(buttons.of_approval(WAIT, may_repeat=False))
    assert list(made) == ["Allow once", "Deny"]
    denied = buttons.read(made["Deny"])
    assert denied is not None
    assert denied.answer is Answer.DENY


def test_long_choices_are_cut_and_stay_different() -> None:
    choices = ["x" * 200 + "1", "x" * 200 + "2"]
    labels = [label for label, _ in buttons.of_question(WAIT, [{"choices": choices}])]
    assert len(set(labels)) == 2
    assert max(map(len, labels)) <= 60


@pytest.mark.parametrize(
    "data", ["", "k", "k||", "k|00|1", f"j|{'0' * 32}|1", f"k|{'0' * 32}|", f"k|{'0' * 32}|1\n"]
)
def test_what_is_none_of_ours_is_not_read(data: str) -> None:
    assert buttons.read(data) is None


def test_an_index_beyond_the_answers_is_none() -> None:
    pressed = buttons.read(f"k|{'0' * 32}|3")
    assert pressed is not None
    assert pressed.answer is None
