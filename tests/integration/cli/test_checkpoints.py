from __future__ import annotations

import json
from pathlib import Path

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.ops.account import agent_user
from habakkuk.tools.checkpoints.service import turn_id
from habakkuk.tools.checkpoints.types import Kind, Label
from tests.fakes.stack import Stack, until
from tests.integration.cli.conftest import Run


@pytest.fixture(autouse=True, scope="session")
def _agent_user() -> None:
    """As root git needs the agents' user."""
    agent_user()


@pytest.fixture
def workspace(stack: Stack) -> Path:
    folder = stack.home / "agents/habakkuk/workspace"
    folder.mkdir(parents=True)
    (folder / "x").write_text("1\n")
    label = Label(turn_id("t"), Kind.TURN, "ses_1", "conv", "t", "write \x1b[31mred")
    stack.container.checkpoints.before("habakkuk", label, Interrupt())
    (folder / "x").write_text("2\n")
    (folder / "y").write_text("2\n")
    return folder


ID = turn_id("t")


def test_they_are_listed_and_a_request_turns_no_colours_on(workspace: Path, run: Run) -> None:
    listed = run("checkpoints").stdout
    assert ID in listed
    assert "turn" in listed
    assert "ses_1" in listed
    assert "\x1b" not in listed
    found = json.loads(run("checkpoints", "-o", "json", "-n", "1").stdout)
    assert [one["id"] for one in found["checkpoints"]] == [ID]
    assert found["problem"] is None


def test_a_rollback_shows_what_changes_and_asks(workspace: Path, run: Run) -> None:
    refused = run("rollback", ID, stdin="n\n")
    assert refused.exit_code == 1
    assert " x | 2 +-\n y | 1 -\n" in refused.stdout
    assert (workspace / "x").read_text() == "2\n"
    done = run("rollback", ID[:8], stdin="y\n")
    assert done.exit_code == 0, done.output
    assert (workspace / "x").read_text() == "1\n"
    assert not (workspace / "y").exists()
    assert run("rollback", "-y", ID).stdout == f"Nothing differs from {ID}.\n"
    newest = json.loads(run("checkpoints", "-o", "json").stdout)["checkpoints"][0]
    assert (newest["kind"], newest["restored"]) == ("rollback", ID)


def test_one_path_is_rolled_back_without_a_question(workspace: Path, run: Run) -> None:
    assert run("rollback", "-y", ID, "x").exit_code == 0
    assert (workspace / "x").read_text() == "1\n"
    assert (workspace / "y").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rollback", "nothing"), "there is no checkpoint 'nothing'"),
        (("rollback", ID, "../x"), "'..' is not allowed"),
        (("rollback", "-a", "nobody", ID), "there is no agent 'nobody'"),
        (("checkpoints", "-a", "../x"), "there is no agent '../x'"),
    ],
)
def test_what_cannot_be_done_is_said(
    workspace: Path, run: Run, words: tuple[str, ...], said: str
) -> None:
    result = run(*words)
    assert result.exit_code == 1
    assert said.lower() in result.stderr.lower()


def test_a_rollback_waits_for_no_turn(workspace: Path, stack: Stack, run: Run) -> None:
    stack.start()
    admitted = stack.say("[[wait 30]] slow")
    until(lambda: stack.model.requests)
    result = run("rollback", "-y", ID)
    assert result.exit_code == 1
    assert "a turn of habakkuk is running" in result.stderr.lower()
    assert (workspace / "x").read_text() == "2\n"
    stack.say("/stop")
    stack.ended(admitted)


def test_an_agent_without_any_says_so(stack: Stack, run: Run) -> None:
    assert run("checkpoints", "-a", "careful").stdout == (
        "careful has no checkpoints yet; one is made before a turn changes files.\n"
    )
