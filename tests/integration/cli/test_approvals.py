"""`habakkuk approvals`: questions listed and answered from a shell."""

from __future__ import annotations

import json

import pytest

from habakkuk.agent.approval.types import Approval
from habakkuk.gateway.types import Admitted
from habakkuk.jobs.types import JobState
from tests.fakes.stack import Stack, until
from tests.integration.cli.conftest import Run

EFFECT = "[[tool effect {}]] work"
COMMAND = '[[tool exec {"command": "rm -r build && make", "cwd": "src"}]] work'


def _ask(stack: Stack, text: str = EFFECT) -> tuple[Admitted, Approval]:
    """Have a turn ask and return it with its question."""
    admitted = stack.say(text, agent="careful", attended=True)
    jobs = stack.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    (approval,) = stack.container.approvals.open(stack.owner)
    return admitted, approval


def test_a_question_is_listed_with_all_that_would_run(worker: Stack, run: Run) -> None:
    _, approval = _ask(worker, COMMAND)
    result = run("approvals", "list")
    assert result.exit_code == 0
    head, *lines = result.stdout.splitlines()
    assert head.startswith(f"{approval.id} (14 min ")
    assert head.endswith("left, once only)")
    assert lines[0] == "  | rm -r build && make"
    assert "  Agent   careful" in lines


def test_json_tells_what_the_api_tells(worker: Stack, run: Run) -> None:
    admitted, approval = _ask(worker, COMMAND)
    (told,) = json.loads(run("approvals", "list", "-o", "json").stdout)["approvals"]
    assert (told["id"], told["turn"], told["tool"]) == (approval.id, admitted.turn_id, "exec")
    assert told["input"] == {"command": "rm -r build && make", "cwd": "src"}
    assert told["may_repeat"] is False


def test_without_questions_it_says_so(stack: Stack, run: Run) -> None:
    assert run("approvals", "list").stdout == "Nothing waits for an answer.\n"
    assert json.loads(run("approvals", "list", "-o", "json").stdout)["approvals"] == []


def test_an_approved_call_runs_and_its_turn_ends(worker: Stack, run: Run) -> None:
    admitted, approval = _ask(worker)
    result = run("approvals", "approve", approval.id)
    assert (result.exit_code, result.stdout) == (0, "effect is allowed once.\n")
    assert "done" in worker.reply(admitted).body
    assert len(worker.trace("effects.log", "careful")) == 1


def test_a_call_approved_for_the_session_is_not_asked_again(worker: Stack, run: Run) -> None:
    admitted, approval = _ask(worker)
    assert run("approvals", "approve", "--session", approval.id).exit_code == 0
    worker.reply(admitted)
    worker.reply(worker.say(EFFECT, agent="careful", attended=True))
    assert len(worker.trace("effects.log", "careful")) == 2


def test_a_shell_command_is_not_approved_for_the_session(worker: Stack, run: Run) -> None:
    _, approval = _ask(worker, COMMAND)
    result = run("approvals", "approve", "--session", approval.id)
    assert result.exit_code == 1
    assert "allow it once" in result.stderr
    assert worker.container.approvals.get(worker.owner, approval.id).outcome is None


def test_a_denial_takes_its_reason_along(worker: Stack, run: Run) -> None:
    admitted, approval = _ask(worker)
    result = run("approvals", "deny", approval.id, "--reason", "not today")
    assert (result.exit_code, result.stdout) == (0, "effect is denied.\n")
    assert "did not allow effect: not today" in worker.reply(admitted).body
    assert worker.trace("effects.log", "careful") == []


def test_the_second_answer_is_refused(worker: Stack, run: Run) -> None:
    _, approval = _ask(worker)
    run("approvals", "deny", approval.id)
    result = run("approvals", "approve", approval.id)
    assert result.exit_code == 1
    assert "answered already" in result.stderr


@pytest.mark.parametrize("words", [("approve",), ("deny",)])
def test_an_unknown_id_is_named(stack: Stack, run: Run, words: tuple[str, ...]) -> None:
    result = run("approvals", *words, "approval_none")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "'approval_none'" in result.stderr
