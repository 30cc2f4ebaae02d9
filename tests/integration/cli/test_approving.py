"""Questions of a turn, answered at a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from sqlalchemy import text

from habakkuk.agent.approval.types import Answer, Approval
from tests.fakes.stack import Stack, until
from tests.integration.cli.conftest import Run
from tests.integration.cli.terminal import Terminal

Open = Callable[..., Terminal]

EFFECT = "[[tool effect {}]] work"
COMMAND = '[[tool exec {"command": "echo made > made.txt"}]] work'


@pytest.fixture
def open_terminal(worker: Stack, run: Run) -> Open:
    """Open a terminal with the environment that `run` has set."""
    return lambda *words: Terminal(*words, environment=os.environ)


def _asked(stack: Stack) -> Approval:
    (approval,) = stack.container.approvals.open(stack.owner)
    return approval


def _effects(stack: Stack) -> int:
    return len(stack.trace("effects.log", "careful"))


def test_a_command_is_shown_and_runs_when_it_is_allowed(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "--agent", "careful", COMMAND) as terminal:
        terminal.wait_for("\n  | echo made > made.txt\n")
        terminal.wait_for("Agent   careful\n")
        terminal.wait_for("Why     permissions are workspace\n")
        terminal.wait_for("[o]nce, [d]eny (14 min ")
        assert worker.trace("made.txt", "careful") == []
        terminal.type("o\n")
        terminal.wait_for("Allowed once.\n")
        assert terminal.ended() == 0
    assert worker.trace("made.txt", "careful") == ["made"]


def test_a_command_of_a_shell_is_never_allowed_for_the_session(
    worker: Stack, open_terminal: Open
) -> None:
    with open_terminal("ask", "--agent", "careful", COMMAND) as terminal:
        terminal.wait_for("[o]nce, [d]eny")
        terminal.type("s\n")
        terminal.wait_for("only this once can be allowed")
        terminal.wait_for("[o]nce, [d]eny")
        assert _asked(worker).outcome is None


def test_what_is_allowed_for_the_session_is_not_asked_again(
    worker: Stack, open_terminal: Open
) -> None:
    with open_terminal("chat", "--agent", "careful") as terminal:
        terminal.wait_for("> ")
        terminal.type(EFFECT + "\n")
        terminal.wait_for("for this [s]ession")
        terminal.type("s\n")
        terminal.wait_for("done ")
        terminal.wait_for("> ")
        terminal.type(EFFECT + "\n")
        terminal.wait_for("done ")
        assert terminal.shown.count("[o]nce") == 1
    assert _effects(worker) == 2


def test_a_denial_takes_its_reason_to_the_model(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "--agent", "careful", EFFECT) as terminal:
        terminal.wait_for("[d]eny")
        terminal.type("d\n")
        terminal.wait_for("Why not?")
        terminal.type("in the other folder\n")
        terminal.wait_for("did not allow effect: in the other folder")
        assert terminal.ended() == 0
    assert _effects(worker) == 0


def test_an_empty_line_answers_nothing(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "--agent", "careful", EFFECT) as terminal:
        terminal.wait_for("[o]nce")
        terminal.type("\n")
        terminal.wait_for("[o]nce")
        assert _asked(worker).outcome is None


def test_what_was_typed_before_the_question_does_not_answer_it(
    worker: Stack, open_terminal: Open
) -> None:
    with open_terminal("ask", "--agent", "careful", "[[wait 1]] " + EFFECT) as terminal:
        terminal.wait_for("waiting…")
        terminal.type("o\n")
        terminal.wait_for("[o]nce")
        terminal.type("d\n")
        terminal.wait_for("Why not?")
        terminal.type("\n")
        terminal.wait_for("did not allow effect")
    assert _effects(worker) == 0


def test_terminal_sequences_in_a_command_are_escapes(worker: Stack, open_terminal: Open) -> None:
    command = '[[tool exec {"command": "true \\u001b[2K\\u202etxt"}]] work'
    with open_terminal("ask", "--agent", "careful", command) as terminal:
        terminal.wait_for("  | true \\x1b[2K\\u202etxt\n")
        terminal.wait_for("[o]nce")
        asked = terminal.shown[terminal.shown.index("  | true") :]
        assert not {"\x1b", "\u202e"} & set(asked)


def test_an_answer_elsewhere_withdraws_the_question(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "--agent", "careful", EFFECT) as terminal:
        terminal.wait_for("[o]nce")
        worker.container.approvals.answer(worker.owner, _asked(worker).id, Answer.ONCE)
        terminal.wait_for("\nAllowed elsewhere.\n")
        assert terminal.ended() == 0
    assert _effects(worker) == 1


def test_a_question_whose_time_is_over_is_withdrawn(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "--agent", "careful", EFFECT) as terminal:
        terminal.wait_for("[o]nce")
        worker.container.database.run(text("UPDATE waits SET expires_at = now()"))
        terminal.wait_for("\nNobody answered in time, so it is not run.\n")
        assert terminal.ended() == 0
    assert _effects(worker) == 0


def test_ctrl_c_at_the_question_stops_the_turn(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "--agent", "careful", EFFECT) as terminal:
        terminal.wait_for("[o]nce")
        approval = _asked(worker)
        terminal.type("\x03")
        assert terminal.ended() == 130
        assert "Traceback" not in terminal.shown
    until(lambda: worker.turn(approval.turn_id).outcome == "cancelled")
    found = worker.container.approvals.get(worker.owner, approval.id)
    assert found.outcome == "cancelled"


def test_chat_goes_on_after_a_question_was_stopped(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("chat", "--agent", "careful") as terminal:
        terminal.wait_for("> ")
        terminal.type(EFFECT + "\n")
        terminal.wait_for("[o]nce")
        terminal.type("\x03")
        terminal.wait_for("> ")
        terminal.type("next\n")
        terminal.wait_for("echo: next\n")


def test_ctrl_d_leaves_the_question_to_others(worker: Stack, open_terminal: Open, run: Run) -> None:
    with open_terminal("ask", "--agent", "careful", EFFECT) as terminal:
        terminal.wait_for("[o]nce")
        terminal.type("\x04")
        terminal.wait_for("still open")
        approval = _asked(worker)
        assert approval.outcome is None
        assert run("approvals", "approve", approval.id).exit_code == 0
        assert terminal.ended() == 0
    assert _effects(worker) == 1


def test_an_earlier_question_of_the_session_is_put_first(
    worker: Stack, open_terminal: Open
) -> None:
    waiting = worker.say(EFFECT, agent="careful", attended=True)
    until(lambda: worker.container.approvals.open(worker.owner))
    with open_terminal("ask", "--session", waiting.session_id, "and then") as terminal:
        terminal.wait_for("Tool    effect")
        terminal.wait_for("[o]nce")
        terminal.type("o\n")
        terminal.wait_for("echo: and then")
        assert terminal.ended() == 0
    assert "done" in worker.reply(waiting).body


def test_without_a_terminal_what_needs_approval_is_denied_at_once(worker: Stack, run: Run) -> None:
    result = run("ask", "--agent", "careful", EFFECT)
    assert result.exit_code == 0
    assert "nobody can be asked here" in result.stdout
    assert _effects(worker) == 0
