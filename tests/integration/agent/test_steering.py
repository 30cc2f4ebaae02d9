"""Guidance and pauses: kept, read once at the next step, never taken for a broken call."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import text as sql

from habakkuk.accounts.types import Role, User
from habakkuk.agent.approval.types import Answer
from habakkuk.conversations.types import Address, ChatKind, ChatState, Outcome
from habakkuk.gateway.types import Admitted, Inbound
from habakkuk.jobs.types import JobState
from tests.fakes.model_script import Reply
from tests.fakes.model_server import Recorded
from tests.fakes.stack import Points, Stack, until

# Two steps: while the first looks there is time to say something.
WORK = '[[tool look {"seconds": 1.5}]] [[next]] [[tool effect {}]] work'


def _looking(stack: Stack) -> Admitted:
    """Begin a turn and wait until its first call runs."""
    admitted = stack.say(WORK)
    until(lambda: stack.trace("looks.log"))
    return admitted


def _texts(stack: Stack, admitted: Admitted) -> list[str]:
    """Return the text of each user message of the session, in order."""
    stored = stack.container.conversations.transcript(stack.principal, admitted.session_id)
    return [item.message.text for item in stored if item.message.role == "user"]


def _steers(stack: Stack, admitted: Admitted) -> list[Any]:
    return [row for row in stack.rows(admitted) if row.kind is ChatKind.STEER]


def _state(stack: Stack, admitted: Admitted) -> JobState | None:
    job = stack.container.jobs.get(admitted.turn_id or "")
    return job.state if job else None


def _paused(stack: Stack, admitted: Admitted) -> None:
    until(lambda: _state(stack, admitted) is JobState.WAITING)


def _notices(stack: Stack, admitted: Admitted) -> list[str]:
    return [row.body for row in stack.rows(admitted) if row.kind is ChatKind.EVENT]


def test_guidance_reaches_the_very_next_model_call(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    reply = stack.say("/steer use tabs").reply
    assert reply == "The agent reads it with its next step, or right after this answer."
    assert stack.reply(admitted).body == "echo: use tabs"
    _, results = _texts(stack, admitted)
    assert results.endswith("[While you work the user adds:]\nuse tabs")
    assert "use tabs" in str(stack.model.requests[1].body["messages"][-1])
    (row,) = _steers(stack, admitted)
    assert (row.body, row.state, row.turn_id) == ("use tabs", ChatState.TAKEN, admitted.turn_id)
    # The call in flight was not repeated, and no turn follows.
    assert len(stack.trace("looks.log")) == 1
    assert len(stack.model.requests) == 2


def test_several_words_of_guidance_keep_their_order(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    stack.say("/steer one")
    stack.say("/steer two")
    stack.reply(admitted)
    assert _texts(stack, admitted)[1].endswith("adds:]\nonetwo")


def test_guidance_after_the_last_call_becomes_a_turn_of_its_own(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("slow [[wait 1.5]]")
    until(lambda: stack.model.requests)
    stack.say("/steer shorter")
    assert stack.reply(admitted).body == "echo: slow"
    (row,) = _steers(stack, admitted)
    assert row.turn_id != admitted.turn_id
    until(lambda: stack.turn(row.turn_id).ended)
    assert stack.turn(row.turn_id).outcome is Outcome.ANSWERED
    assert _texts(stack, admitted)[-1].endswith("\nshorter")


def test_with_nothing_running_it_is_an_ordinary_message(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("/steer hello", remote_id="m1")
    assert stack.say("/steer hello", remote_id="m1").duplicate
    assert stack.reply(admitted).body == "echo: hello"
    assert "after /steer" in (stack.say("/steer").reply or "")


def test_guidance_that_comes_again_is_kept_once(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    stack.say("/steer use tabs", remote_id="m1")
    assert stack.say("/steer use tabs", remote_id="m1").duplicate
    stack.reply(admitted)
    assert len(_steers(stack, admitted)) == 1


def test_another_members_words_are_no_guidance(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    theirs = _says(stack, _other(stack), "/steer use tabs")
    assert theirs.turn_id not in {None, admitted.turn_id}
    stack.reply(admitted)
    assert stack.reply(theirs).body == "echo: use tabs"


def _other(stack: Stack) -> User:
    stack.container.database.run(
        sql("INSERT INTO users (id, name, role) VALUES ('user_2', 'other', 'member')")
    )
    return User("user_2", "other", Role.MEMBER)


def _says(stack: Stack, user: User, words: str) -> Admitted:
    return stack.container.gateway.admit(Inbound(Address("web", "web", "c"), user, words, "api"))


@pytest.mark.parametrize("words", ["/stop", "/pause"])
def test_another_member_neither_stops_nor_pauses_what_runs_for_somebody_else(
    stack: Stack, words: str
) -> None:
    stack.start()
    admitted = _looking(stack)
    assert _says(stack, _other(stack), words).reply == (
        "What is running here is for somebody else; only they or an owner decide about it."
    )
    assert "done" in stack.reply(admitted).body
    assert _notices(stack, admitted) == []


def test_another_member_does_not_resume_what_somebody_paused(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    stack.say("/pause")
    _paused(stack, admitted)
    assert _says(stack, _other(stack), "/resume").reply == (
        "What is paused here is for somebody else; only they or an owner decide about it."
    )
    assert _state(stack, admitted) is JobState.WAITING
    stack.say("/resume")
    stack.reply(admitted)


def test_each_person_stops_their_own_turn_and_an_owner_every_one(stack: Stack) -> None:
    """The first that runs is the owner's: a member's /stop passes it over."""
    stack.start()
    first, other = stack.say("[[stall]] slow"), _other(stack)
    until(lambda: stack.model.requests)
    queued = _says(stack, other, "theirs")
    assert _says(stack, other, "/stop").reply == "Stopping."
    assert stack.ended(queued).outcome is Outcome.CANCELLED
    second = _says(stack, other, "[[stall]] slow")
    stack.say("/stop")
    assert stack.ended(first).outcome is Outcome.CANCELLED
    until(lambda: _state(stack, second) is JobState.RUNNING)
    assert stack.say("/stop").reply == "Stopping."
    assert stack.ended(second).outcome is Outcome.CANCELLED


def test_guidance_can_be_taken_back_until_it_is_read(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    stack.say("/steer use tabs")
    (row,) = _steers(stack, admitted)
    address = Address("web", "web", "c")
    stack.container.amendments.withdraw(stack.principal, address, row.seq)
    stack.reply(admitted)
    assert "use tabs" not in str(_texts(stack, admitted))


def test_a_stopped_turn_takes_its_guidance_with_it(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    stack.say("/steer use tabs")
    stack.say("/stop")
    assert stack.ended(admitted).outcome is Outcome.CANCELLED
    (row,) = _steers(stack, admitted)
    assert row.state is ChatState.WITHDRAWN
    assert stack.reply(stack.say("hello")).body == "echo: hello"


def test_a_broken_call_is_no_guidance(stack: Stack) -> None:
    """Case of seed 004: an abort that reads as a steer would spin the loop to its cap."""
    stack.start()
    admitted = stack.say("[[cut 3]] work")
    stack.reply(admitted)
    assert _steers(stack, admitted) == []
    assert len(_texts(stack, admitted)) == 1


def test_a_turn_that_failed_while_paused_still_waits_when_it_runs_again(stack: Stack) -> None:
    """Its pause ended with it; what it asks then must not be waited for in a circle."""
    refuse = threading.Event()
    answers = iter([Reply([b"{}"], status=401, content_type="application/json")])

    def refused_once(_: Recorded) -> Reply | None:
        assert refuse.wait(30)
        return next(answers, None)

    stack.model.script = refused_once
    stack.start()
    admitted = stack.say("[[tool effect {}]] go", agent="careful", attended=True)
    until(lambda: stack.model.requests)
    assert "finishes what it does" in (stack.say("/pause").reply or "")
    refuse.set()
    assert stack.ended(admitted).outcome is Outcome.FAILED
    with stack.container.database.transaction() as work:
        assert stack.container.jobs.retry(work, admitted.turn_id or "")
    until(lambda: _state(stack, admitted) is JobState.WAITING, 15)


@pytest.mark.parametrize(
    ("point", "count"),
    [("turn.append.before", 2), ("turn.append.after", 2), ("tool.record.after", 1)],
)
def test_a_crash_around_the_step_loses_and_doubles_no_guidance(
    stack: Stack, point: str, count: int
) -> None:
    points = Points({point: count})
    stack.start(points)
    admitted = _looking(stack)
    stack.say("/steer use tabs")
    until(lambda: points.passed.count(point) == count)
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    stack.reply(admitted)
    assert str(_texts(stack, admitted)).count("use tabs") == 1
    assert len(stack.trace("looks.log")) == 1


@pytest.mark.parametrize("point", ["turn.end.before", "turn.follow_up.after", "turn.end.after"])
def test_a_crash_around_the_end_loses_and_doubles_no_guidance(stack: Stack, point: str) -> None:
    points = Points({point: 1})
    stack.start(points)
    admitted = stack.say("slow [[wait 1.5]]")
    until(lambda: stack.model.requests)
    stack.say("/steer shorter")
    until(lambda: point in points.passed)
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    assert stack.reply(admitted).body == "echo: slow"
    (row,) = _steers(stack, admitted)
    stack.container.wake.wake("turns", row.turn_id)
    until(lambda: stack.turn(row.turn_id).ended)
    assert str(_texts(stack, admitted)).count("shorter") == 1


def test_a_pause_ends_the_step_then_holds_nothing(stack: Stack) -> None:
    host = stack.start()
    admitted = _looking(stack)
    assert "finishes what it does" in (stack.say("/pause").reply or "")
    assert "paused already" in (stack.say("/pause").reply or "")
    _paused(stack, admitted)
    until(lambda: host.runner.active == 0)
    assert stack.journal(admitted)["look"][0] == "done"
    assert len(stack.model.requests) == 1
    assert _notices(stack, admitted) == ["Paused. /resume goes on, /stop ends it."]
    assert "0 running, 1 waiting, 1 paused" in (stack.say("/status").reply or "")
    queued = stack.say("and then?")
    assert stack.say("/resume").reply == "It goes on."
    assert "done" in stack.reply(admitted).body
    assert len(stack.trace("effects.log")) == 1
    assert stack.reply(queued).body == "echo: and then?"
    assert stack.say("/resume").reply == "Nothing is paused here."
    assert stack.say("/pause").reply == "Nothing is running here."


def test_guidance_for_a_paused_turn_is_read_when_it_goes_on(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    stack.say("/pause")
    _paused(stack, admitted)
    stack.say("/steer use tabs")
    stack.say("/resume")
    stack.reply(admitted)
    assert str(_texts(stack, admitted)).count("use tabs") == 1


def test_a_paused_turn_can_be_stopped(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    stack.say("/pause")
    _paused(stack, admitted)
    stack.say("/stop")
    assert stack.ended(admitted).outcome is Outcome.CANCELLED
    assert stack.reply(stack.say("hello")).body == "echo: hello"


def test_a_pause_that_is_taken_back_in_time_holds_nothing_up(stack: Stack) -> None:
    stack.start()
    admitted = _looking(stack)
    stack.say("/pause")
    assert stack.say("/resume").reply == "It goes on."
    stack.reply(admitted)
    assert _notices(stack, admitted) == []


def test_a_pause_lets_an_open_approval_wait_too(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[tool effect {}]] work", agent="careful", attended=True)
    _paused(stack, admitted)
    stack.say("/pause", agent="careful")
    (approval,) = stack.container.approvals.open(stack.owner)
    stack.container.approvals.answer(stack.owner, approval.id, Answer.ONCE)
    until(lambda: _notices(stack, admitted))
    _paused(stack, admitted)
    assert len(stack.trace("effects.log", "careful")) == 1
    stack.say("/resume", agent="careful")
    assert "done" in stack.reply(admitted).body


def test_a_resume_during_an_open_approval_leaves_it_waiting(stack: Stack) -> None:
    """A wait that is resolved and not used would keep the turn from parking: it would spin."""
    host = stack.start()
    admitted = stack.say("[[tool effect {}]] work", agent="careful", attended=True)
    _paused(stack, admitted)
    stack.say("/pause", agent="careful")
    stack.say("/resume", agent="careful")
    until(lambda: host.runner.active == 0)
    _paused(stack, admitted)
    (approval,) = stack.container.approvals.open(stack.owner)
    stack.container.approvals.answer(stack.owner, approval.id, Answer.ONCE)
    assert "done" in stack.reply(admitted).body


@pytest.mark.parametrize("point", ["turn.pause.before", "turn.pause.after", "job.park.after"])
def test_a_crash_around_the_pause_still_pauses_and_says_so_once(stack: Stack, point: str) -> None:
    points = Points({point: 1})
    stack.start(points)
    admitted = _looking(stack)
    stack.say("/pause")
    until(lambda: point in points.passed)
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    _paused(stack, admitted)
    assert len(_notices(stack, admitted)) == 1
    stack.say("/resume")
    stack.reply(admitted)
    assert len(stack.trace("effects.log")) == 1


@pytest.mark.parametrize("point", ["turn.pause.before", "turn.pause.after"])
def test_a_resume_around_the_parking_is_never_lost(stack: Stack, point: str) -> None:
    points = Points({point: 1}, act=lambda: stack.say("/resume"))
    stack.start(points)
    admitted = _looking(stack)
    stack.say("/pause")
    stack.reply(admitted)
    assert point in points.passed
