"""An agent's questions, answered at a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.fakes.stack import Stack, until
from tests.integration.cli.conftest import Run
from tests.integration.cli.terminal import Terminal

Open = Callable[..., Terminal]

ASK = (
    '[[tool clarify {"questions": [{"question": "Which\\u202e one?", "choices": ["red", "green"]}'
    "]}]] paint"
)


@pytest.fixture
def open_terminal(worker: Stack, run: Run) -> Open:
    """Open a terminal with the environment that `run` has set."""
    return lambda *words: Terminal(*words, environment=os.environ)


def test_a_question_is_shown_with_its_choices_and_a_line_answers_it(
    worker: Stack, open_terminal: Open
) -> None:
    with open_terminal("ask", ASK) as terminal:
        terminal.wait_for("habakkuk asks:\n  Which\\u202e one?\n     A. red\n     B. green\n")
        terminal.wait_for("Your answer (14 min ")
        terminal.type("\n")
        terminal.wait_for("Your answer (14 min ")
        terminal.type("b\n")
        terminal.wait_for("The user answered: B. green")
        assert terminal.ended() == 0
    assert worker.container.questions.open(worker.owner) == []


def test_an_answer_from_elsewhere_takes_the_question_away(
    worker: Stack, open_terminal: Open
) -> None:
    with open_terminal("ask", ASK) as terminal:
        terminal.wait_for("Your answer (")
        (question,) = worker.container.questions.open(worker.owner)
        worker.container.questions.answer(worker.owner, question.id, "blue")
        terminal.wait_for("Answered elsewhere.")
        terminal.wait_for("The user answered: blue")
        assert terminal.ended() == 0


def test_a_stop_at_the_question_ends_the_turn(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", ASK) as terminal:
        terminal.wait_for("Your answer (")
        terminal.type("\x03")
        until(lambda: not worker.container.questions.open(worker.owner))
        assert terminal.ended() != 0
