"""What nobody can allow: no mode, and no answer that was given before."""

from __future__ import annotations

import json

import pytest

from habakkuk.agent.approval.types import Answer
from habakkuk.jobs.types import JobState
from tests.fakes.stack import Stack, until

# On the list, and harmless should a test find the wall gone: there is no such program.
COMMAND = "mkfs.nosuch-program /dev/sda"
CALL = f"[[tool exec {json.dumps({'command': COMMAND})}]] work"


def test_full_permissions_do_not_allow_it(stack: Stack) -> None:
    stack.start()
    body = stack.reply(stack.say(CALL, agent="habakkuk", attended=True)).body
    assert "write over the disk /dev/sda" in body
    assert "nobody can allow it" in body.replace("\n", " ")


def test_nobody_is_asked_about_it(stack: Stack) -> None:
    stack.start()
    body = stack.reply(stack.say(CALL, agent="careful", attended=True)).body
    assert "write over the disk /dev/sda" in body
    assert stack.container.approvals.open(stack.owner) == []


def test_an_answer_given_before_does_not_allow_it(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an update that knows more: the question is older than the list."""
    stack.start()
    with monkeypatch.context() as before:
        before.setattr("habakkuk.tools.core.exec.hardline", lambda *_: None)
        admitted = stack.say(CALL, agent="careful", attended=True)
        jobs = stack.container.jobs
        until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    (approval,) = stack.container.approvals.open(stack.owner)
    stack.container.approvals.answer(stack.owner, approval.id, Answer.ONCE)
    body = stack.reply(admitted).body
    assert "write over the disk /dev/sda" in body
    assert "127" not in body
