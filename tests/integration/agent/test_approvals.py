"""Calls that need a person: asked, answered once by who may, bound to what was shown."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text as sql

from habakkuk.accounts.types import Role, User
from habakkuk.agent.approval.types import Answer, Approval
from habakkuk.agent.closing import NEVER_RAN, STOPPED
from habakkuk.conversations.types import ChatKind
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.gateway.types import Admitted
from habakkuk.jobs.types import JobState
from tests.fakes.stack import Points, Stack, until

CALL = "[[tool effect {}]] work"


def _asked(stack: Stack, admitted: Admitted) -> Approval:
    """Wait until the turn waits for its approval and return it."""
    jobs = stack.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    (approval,) = stack.container.approvals.open(stack.owner)
    return approval


def _asked_twice(stack: Stack, admitted: Admitted) -> None:
    """Wait until the turn waits with two open questions."""
    jobs = stack.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    assert len(stack.container.approvals.open(stack.owner)) == 2


def _say(stack: Stack, text: str = CALL, **fields: Any) -> Admitted:
    return stack.say(text, agent="careful", attended=True, **fields)


def _answer(stack: Stack, approval: Approval, answer: Answer, reason: str = "") -> None:
    stack.container.approvals.answer(stack.owner, approval.id, answer, reason)


def test_an_allowed_call_runs_once_and_the_turn_goes_on(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    assert stack.trace("effects.log", "careful") == []
    _answer(stack, approval, Answer.ONCE)
    assert "done" in stack.reply(admitted).body
    assert len(stack.trace("effects.log", "careful")) == 1


def test_the_question_stands_in_the_chat_with_what_would_run(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    (row,) = [row for row in stack.rows(admitted) if row.kind is ChatKind.APPROVAL]
    assert row.data["approval"] == approval.id
    assert (row.data["tool"], row.data["input"]) == ("effect", {})


def test_a_denial_reaches_the_model_with_its_reason(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _answer(stack, _asked(stack, admitted), Answer.DENY, "use the other folder")
    assert "did not allow effect: use the other folder" in stack.reply(admitted).body
    assert stack.trace("effects.log", "careful") == []


def test_an_approval_survives_a_restart_of_every_process(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    stack.stop()
    _answer(stack, approval, Answer.ONCE)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    stack.reply(admitted)
    assert len(stack.trace("effects.log", "careful")) == 1


def test_an_answer_counts_once(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    _answer(stack, approval, Answer.DENY)
    with pytest.raises(Conflict):
        _answer(stack, approval, Answer.ONCE)
    stack.reply(admitted)
    assert stack.trace("effects.log", "careful") == []


def test_nobody_else_may_answer_or_see(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    stranger = User("user_2", "stranger", Role.MEMBER)
    assert stack.container.approvals.open(stranger) == []
    with pytest.raises(NotFound):
        stack.container.approvals.answer(stranger, approval.id, Answer.ONCE)
    _answer(stack, approval, Answer.DENY)
    stack.reply(admitted)


def test_unattended_calls_are_denied_at_once_with_the_reason(stack: Stack) -> None:
    stack.start()
    admitted = stack.say(CALL, agent="careful")
    assert "nobody can be asked here" in stack.reply(admitted).body
    assert stack.trace("effects.log", "careful") == []


def test_read_only_refuses_without_asking(stack: Stack) -> None:
    stack.start()
    admitted = stack.say(CALL, agent="reader", attended=True)
    assert "read-only" in stack.reply(admitted).body


def test_an_answer_does_not_allow_what_the_configuration_forbids_by_now(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    stack.stop()
    agents = stack.container.settings.config.agents
    agents["careful"] = agents["reader"]
    _answer(stack, approval, Answer.ONCE)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    assert "read-only" in stack.reply(admitted).body
    assert stack.trace("effects.log", "careful") == []


def test_for_the_session_covers_the_very_same_call_again(stack: Stack) -> None:
    stack.start()
    first = _say(stack)
    _answer(stack, _asked(stack, first), Answer.SESSION)
    stack.reply(first)
    again = _say(stack)
    stack.reply(again)
    assert len(stack.trace("effects.log", "careful")) == 2
    other = _say(stack, '[[tool effect {"after": 0.01}]] work')
    _answer(stack, _asked(stack, other), Answer.DENY)
    stack.reply(other)


def test_yes_and_no_in_the_chat_answer_the_question(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    stack.read_questions()
    reply = stack.say("No, that is the wrong one", agent="careful", approves=True)
    assert reply.turn_id is None
    assert "wrong one" in stack.reply(admitted).body


def test_a_yes_to_what_nobody_can_have_read_is_an_ordinary_message(stack: Stack) -> None:
    """Such as one that was meant for a question which somebody else has answered."""
    stack.start()
    approval = _asked(stack, _say(stack))
    assert stack.say("yes", agent="careful", approves=True).turn_id is not None
    assert stack.container.approvals.get(stack.owner, approval.id).outcome is None


def test_yes_without_a_question_is_an_ordinary_message(stack: Stack) -> None:
    stack.start()
    assert stack.reply(stack.say("yes", approves=True)).body == "echo: yes"


@pytest.mark.parametrize("beside", ["/new", "/btw hello"])
def test_a_yes_after_an_agent_spoke_is_asked_what_it_meant(stack: Stack, beside: str) -> None:
    """It may answer what that said: nothing is allowed by mistake."""
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    stack.read_questions()
    aside = stack.say(beside)
    stack.ended(aside if aside.turn_id else _say(stack, "Shall we?"))
    first = stack.say("yes", approves=True, remote_id="m1")
    assert "May careful run effect? If you meant that" in str(first.reply)
    assert stack.say("yes", approves=True, remote_id="m1").duplicate
    assert stack.container.approvals.get(stack.owner, approval.id).outcome is None
    assert stack.say("yes", approves=True).reply == "Allowed once: effect."
    assert "done" in stack.reply(admitted).body


def test_a_message_during_the_wait_is_queued_behind(stack: Stack) -> None:
    stack.start()
    first = _say(stack)
    approval = _asked(stack, first)
    second = _say(stack, "and then?")
    _answer(stack, approval, Answer.ONCE)
    assert stack.reply(second).body == "echo: and then?"
    assert stack.reply(first).seq < stack.reply(second).seq


def test_stop_ends_a_turn_that_waits_and_closes_its_question(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    stack.say("/stop", agent="careful")
    stack.ended(admitted)
    assert stack.container.approvals.open(stack.owner) == []
    with pytest.raises(Conflict):
        _answer(stack, approval, Answer.ONCE)
    assert stack.trace("effects.log", "careful") == []


def test_a_shell_cannot_be_allowed_for_the_session(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack, '[[tool exec {"command": "sh -c date"}]] work')
    approval = _asked(stack, admitted)
    assert not approval.may_repeat
    with pytest.raises(Invalid, match="allow it once"):
        _answer(stack, approval, Answer.SESSION)
    _answer(stack, approval, Answer.DENY)
    assert "did not allow exec" in stack.reply(admitted).body


def test_going_in_circles_is_said_then_stopped(stack: Stack) -> None:
    stack.start()
    steps = " [[next]] ".join("[[tool look {}]]" for _ in range(7))
    reply = stack.reply(stack.say(steps))
    assert "went in circles" in reply.body
    sent = str(stack.model.requests[-1].body["messages"])
    assert "was called 3 times with the same arguments and result" in sent


def test_a_turn_parks_again_while_another_question_is_open(stack: Stack) -> None:
    points = Points()
    stack.start(points)
    admitted = _say(stack, '[[tool effect {}]] [[tool effect {"after": 0.01}]] work')
    _asked_twice(stack, admitted)
    first, second = stack.container.approvals.open(stack.owner)
    _answer(stack, first, Answer.DENY)
    until(lambda: points.passed.count("job.park.after") == 2)
    _answer(stack, second, Answer.ONCE)
    stack.reply(admitted)
    assert len(stack.trace("effects.log", "careful")) == 1


def _told(stack: Stack, text: str = "and now?") -> list[str]:
    """Send another message and return the results of calls that the model reads with it."""
    stack.reply(_say(stack, text))
    sent = stack.model.requests[-1].body["messages"]
    return [message["content"] for message in sent if message["role"] == "tool"]


def test_a_call_that_was_cancelled_before_it_ran_reads_so(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    stack.say("/stop", agent="careful")
    stack.ended(admitted)
    assert stack.journal(admitted)["effect"] == ("done", NEVER_RAN)
    assert _told(stack) == [NEVER_RAN]


def test_a_call_that_was_done_beside_a_cancelled_one_keeps_its_result(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack, "[[tool look {}]] [[tool effect {}]] work")
    _asked(stack, admitted)
    stack.say("/stop", agent="careful")
    stack.ended(admitted)
    assert _told(stack) == ["all is well", NEVER_RAN]


def test_a_stop_tells_a_call_that_ran_from_one_that_still_waited(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack, '[[tool look {"seconds": 20}]] [[tool effect {}]] work')
    until(lambda: stack.container.approvals.open(stack.owner))
    until(lambda: stack.trace("looks.log", "careful"))
    stack.say("/stop", agent="careful")
    stack.ended(admitted)
    assert stack.journal(admitted) == {"look": ("done", STOPPED), "effect": ("done", NEVER_RAN)}
    assert _told(stack) == [STOPPED, NEVER_RAN]


def test_a_question_whose_time_is_over_cannot_be_answered_before_the_sweep(stack: Stack) -> None:
    """No worker ran when its 15 minutes ended, so nobody has noted that yet."""
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    stack.stop()
    stack.container.database.run(
        sql("UPDATE waits SET expires_at = now() - interval '1 s' WHERE id = :id"), id=approval.id
    )
    assert stack.container.approvals.open(stack.owner) == []
    with pytest.raises(Conflict, match="its time is over"):
        _answer(stack, approval, Answer.ONCE)
    stack.start()
    assert "nobody answered" in stack.reply(admitted).body
    assert stack.trace("effects.log", "careful") == []


def test_the_answer_is_part_of_what_answering_returns(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    approval = _asked(stack, admitted)
    answered = stack.container.approvals.answer(stack.owner, approval.id, Answer.DENY)
    assert answered.outcome is Answer.DENY
    stack.reply(admitted)
