from __future__ import annotations

import os
import stat
from collections.abc import Callable

import pytest

from tests.fakes.stack import Stack, until
from tests.integration.cli.conftest import Run
from tests.integration.cli.terminal import Terminal

Open = Callable[..., Terminal]


@pytest.fixture
def open_terminal(run: Run) -> Open:
    """Open a terminal with the environment that `run` has set."""
    return lambda *words: Terminal(*words, environment=os.environ)


def test_the_answer_arrives_word_by_word(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "hello [[tokens 4]] [[stall]]") as terminal:
        terminal.wait_for("echo: ")
        assert worker.container.jobs.list()[0].state.alive


def test_a_finished_answer_is_shown_once_and_tells_how_to_go_on(
    worker: Stack, open_terminal: Open
) -> None:
    with open_terminal("ask", "hello [[tokens 3]] [[delay 0.02]]") as terminal:
        assert terminal.ended() == 0
        assert terminal.shown.count("echo: hello token0 token1 token2\n") == 1
        assert terminal.shown.count("token2") == 1
        session = worker.container.conversations.sessions(worker.principal)[0].id
        assert f"(go on with --session {session})" in terminal.shown


def test_ctrl_c_stops_the_turn(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "hello [[tokens 4]] [[stall]]") as terminal:
        terminal.wait_for("echo: ")
        terminal.type("\x03")
        assert terminal.ended() == 130
        assert "Traceback" not in terminal.shown
    (job,) = worker.container.jobs.list()
    until(lambda: worker.turn(job.id).outcome == "cancelled")


def test_workers_that_go_are_told_and_waited_for(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("ask", "hello [[tokens 40]] [[delay 0.1]]") as terminal:
        terminal.wait_for("token1")
        worker.stop()
        terminal.wait_for("No worker is running any more")
        worker.start()
        assert terminal.ended() == 0
        assert "(interrupted, answering again)\necho: hello token0" in terminal.shown
        assert terminal.shown.count("token39") == 1


def test_ask_without_words_says_how_to_ask(open_terminal: Open) -> None:
    with open_terminal("ask") as terminal:
        assert terminal.ended() == 2
        assert "What do you want to ask?" in terminal.shown


def test_chat_answers_stops_and_leaves(worker: Stack, open_terminal: Open) -> None:
    with open_terminal("chat") as terminal:
        terminal.wait_for("> ")
        terminal.type("one\n")
        terminal.wait_for("echo: one\n")
        terminal.wait_for("> ")
        terminal.type("two [[tokens 4]] [[stall]]\n")
        terminal.wait_for("echo: ")
        terminal.type("\x03")
        terminal.wait_for("Stopped.\n")
        terminal.wait_for("> ")
        terminal.type("/quit\n")
        assert terminal.ended() == 0
    history = worker.home / "cli_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "one" in history.read_text().splitlines()


def test_chat_without_a_worker_stays_and_says_so(open_terminal: Open) -> None:
    with open_terminal("chat") as terminal:
        terminal.wait_for("> ")
        terminal.type("one\n")
        terminal.wait_for("nothing was sent")
        terminal.wait_for("> ")
        terminal.type("\x04")
        assert terminal.ended() == 0
