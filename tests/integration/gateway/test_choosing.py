"""/model and /effort: a session's own choice."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from tests.fakes.stack import Stack


def chosen(stack: Stack) -> tuple[str | None, str | None]:
    (row,) = stack.container.database.run(
        text(
            "SELECT s.model, s.effort FROM sessions s"
            " JOIN conversations c ON c.session_id = s.id WHERE c.chat = 'c'"
        )
    )
    return row.model, row.effort


def test_a_model_is_chosen_even_before_the_first_message(stack: Stack) -> None:
    admitted = stack.say("/model mine/other-model")
    assert (admitted.reply or "").startswith(
        "From now on this session is answered by mine/other-model."
    )
    assert chosen(stack) == ("mine/other-model", None)


def test_a_model_of_which_nothing_is_known_says_so(stack: Stack) -> None:
    reply = stack.say("/model mine/other-model").reply or ""
    assert "Nothing is known of it" in reply


def test_a_wrong_name_changes_nothing_and_names_what_is_near(stack: Stack) -> None:
    stack.say("/model mine/other-model")
    reply = stack.say("/model fake-mode").reply or ""
    assert reply.startswith("Nothing is changed: there is no model 'fake-mode' here; did you mean")
    assert "mine/fake-model" in reply
    assert chosen(stack)[0] == "mine/other-model"


def test_the_agent_s_own_model_comes_back(stack: Stack) -> None:
    stack.say("/model mine/other-model")
    assert "mine/fake-model" in (stack.say("/model default").reply or "")
    assert chosen(stack) == (None, None)


def test_without_a_name_the_command_tells_what_answers_and_what_else_there_is(
    stack: Stack,
) -> None:
    lines = (stack.say("/model").reply or "").splitlines()
    assert lines[0] == "Model: mine/fake-model (the model of habakkuk)"
    assert lines[1].startswith("At hand: mine/other-model")


@pytest.mark.parametrize("name", ["effort", "think"])
def test_a_level_is_chosen_by_either_name(stack: Stack, name: str) -> None:
    assert "is high." in (stack.say(f"/{name} high").reply or "")
    assert chosen(stack) == (None, "high")
    stack.say(f"/{name} default")
    assert chosen(stack) == (None, None)


def test_an_unknown_level_changes_nothing(stack: Stack) -> None:
    stack.say("/effort high")
    assert "'extreme' is no level" in (stack.say("/effort extreme").reply or "")
    assert chosen(stack) == (None, "high")


def test_status_shows_what_was_chosen(stack: Stack) -> None:
    stack.say("/model mine/other-model")
    stack.say("/effort low")
    lines = (stack.say("/status").reply or "").splitlines()
    assert "Model of this session: mine/other-model" in lines
    assert "Effort: low" in lines


def test_a_fresh_session_has_its_agent_s_model(stack: Stack) -> None:
    stack.say("/model mine/other-model")
    stack.say("/new")
    assert chosen(stack) == (None, None)
