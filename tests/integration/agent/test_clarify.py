"""Questions of an agent: asked once, answered by the next message, never by accident."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from sqlalchemy import text as sql

from habakkuk.accounts.types import Role, User
from habakkuk.agent.clarify.types import Question
from habakkuk.conversations.types import Address, ChatKind, Target
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.gateway.types import Admitted, Inbound
from habakkuk.jobs.types import JobState
from tests.fakes.stack import Points, Stack, until

ONE = {"question": "Which colour?", "choices": ["red", "green"]}


def _call(*questions: dict[str, Any]) -> str:
    return f"[[tool clarify {json.dumps({'questions': list(questions or [ONE])})}]]"


def _say(stack: Stack, text: str = "", **fields: Any) -> Admitted:
    return stack.say(text or f"{_call()} paint", attended=True, **fields)


def _asked(stack: Stack, admitted: Admitted) -> Question:
    """Wait until the turn waits for its answer and return the question."""
    jobs = stack.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    (question,) = stack.container.questions.open(stack.owner)
    return question


def _question_rows(stack: Stack, admitted: Admitted) -> list[Any]:
    return [row for row in stack.rows(admitted) if row.kind is ChatKind.QUESTION]


def test_the_next_message_is_the_answer(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    question = _asked(stack, admitted)
    (row,) = _question_rows(stack, admitted)
    assert (row.data["question"], row.data["questions"]) == (question.id, [ONE])
    stack.read_questions()
    answer = stack.say("a dark blue")
    assert (answer.turn_id, answer.answers) == (admitted.turn_id, True)
    assert "The user answered: a dark blue" in stack.reply(admitted).body
    assert stack.container.questions.open(stack.owner) == []
    assert stack.reply(stack.say("hello")).body == "echo: hello"


def test_a_letter_is_its_choice(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    stack.read_questions()
    stack.say(" b) ")
    assert "The user answered: B. green" in stack.reply(admitted).body


def test_a_message_of_that_very_moment_is_no_answer(stack: Stack) -> None:
    """Nobody can have read the question: what was said is about something else."""
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    early = stack.say("by the way")
    assert early.turn_id != admitted.turn_id
    stack.read_questions()
    stack.say("green")
    assert "The user answered: green" in stack.reply(admitted).body
    assert stack.reply(early).body == "echo: by the way"


def test_a_message_does_not_wait_for_what_its_own_turn_asks(stack: Stack) -> None:
    """The turn may ask before its intake gets round to saying what waits."""
    stack.start()
    inbound = Inbound(
        Address("web", "web", "c"), stack.owner, f"{_call()} paint", "api", attended=True
    )
    admitted = stack.container.gateway.admit(inbound)
    _asked(stack, admitted)
    stack.container.gateway.tell_what_it_waits_for(inbound, admitted)
    assert [row for row in stack.rows(admitted) if row.kind is ChatKind.NOTICE] == []


def test_an_answer_that_comes_again_is_the_same(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    stack.read_questions()
    first = stack.say("green", remote_id="m7")
    again = stack.say("green", remote_id="m7")
    assert (again.seq, again.turn_id, again.duplicate) == (first.seq, first.turn_id, True)
    stack.reply(admitted)


def test_commands_get_through_and_answer_nothing(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    stack.read_questions()
    assert "1 waiting" in (stack.say("/status").reply or "")
    assert len(stack.container.questions.open(stack.owner)) == 1
    stack.say("/stop")
    stack.ended(admitted)
    assert stack.container.questions.open(stack.owner) == []
    assert stack.reply(stack.say("hello")).body == "echo: hello"


def test_only_the_person_who_asked_or_an_owner_answers(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    question = _asked(stack, admitted)
    stack.read_questions()
    stranger = User("user_2", "stranger", Role.MEMBER)
    stack.container.database.run(
        sql("INSERT INTO users (id, name, role) VALUES ('user_2', 'stranger', 'member')")
    )
    service = stack.container.questions
    assert service.open(stranger) == []
    with pytest.raises(NotFound):
        service.answer(stranger, question.id, "green")
    inbound = Inbound(Address("web", "web", "c"), stranger, "me too", "api")
    theirs = stack.container.gateway.admit(inbound)
    assert theirs.turn_id != admitted.turn_id
    service.answer(stack.owner, question.id, "green")
    assert "green" in stack.reply(admitted).body
    with pytest.raises(Conflict):
        service.answer(stack.owner, question.id, "red")


def test_an_answer_by_its_id_stands_in_the_chat(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    question = _asked(stack, admitted)
    with pytest.raises(Invalid):
        stack.container.questions.answer(stack.owner, question.id, " ")
    stack.container.questions.answer(stack.owner, question.id, "green")
    stack.reply(admitted)
    bodies = [(str(row.author), row.body) for row in stack.rows(admitted)]
    assert ("user", "green") in bodies


def test_what_nobody_answers_is_told_to_the_model(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    stack.container.database.run(sql("UPDATE waits SET expires_at = now() - interval '1 s'"))
    assert "Nobody answered within 15 minutes. Go on" in stack.reply(admitted).body
    late = stack.say("green")
    assert stack.reply(late).body == "echo: green"


def test_an_unattended_turn_is_told_at_once(stack: Stack) -> None:
    stack.start()
    admitted = stack.say(f"{_call()} paint")
    assert "Nobody can be asked in this turn. Go on" in stack.reply(admitted).body
    assert _question_rows(stack, admitted) == []


def test_a_second_question_at_the_same_time_is_not_asked(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack, f"{_call()} {_call({'question': 'Which size?'})} paint")
    question = _asked(stack, admitted)
    assert len(_question_rows(stack, admitted)) == 1
    stack.container.questions.answer(stack.owner, question.id, "green")
    assert "another question waits" in stack.reply(admitted).body


def test_a_new_session_does_not_answer_the_old_ones_question(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    question = _asked(stack, admitted)
    stack.read_questions()
    stack.say("/new")
    assert stack.reply(stack.say("hello")).body == "echo: hello"
    stack.container.questions.answer(stack.owner, question.id, "green")
    assert "green" in stack.reply(admitted).body


def test_words_answer_the_older_of_a_question_and_an_approval(stack: Stack) -> None:
    stack.start()
    text = f"{_call()} [[tool effect {{}}]] paint"
    admitted = _say(stack, text, agent="careful")
    question = _asked(stack, admitted)
    stack.read_questions()
    stack.say("purple", agent="careful", approves=True)
    until(lambda: stack.container.questions.get(stack.owner, question.id).outcome)
    (approval,) = stack.container.approvals.open(stack.owner)
    stack.say("yes", agent="careful", approves=True)
    assert stack.container.approvals.get(stack.owner, approval.id).outcome == "once"
    body = stack.reply(admitted).body
    assert "purple" in body
    assert len(stack.trace("effects.log", "careful")) == 1


def test_a_question_survives_a_restart_of_every_process(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    stack.stop()
    stack.read_questions()
    stack.say("green")
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    assert "The user answered: green" in stack.reply(admitted).body


@pytest.mark.parametrize(
    "point",
    ["tool.start.after", "question.ask.before", "question.ask.after", "job.park.after"],
)
def test_a_crash_on_the_way_asks_once(stack: Stack, point: str) -> None:
    points = Points({point: 1})
    stack.start(points)
    admitted = _say(stack)
    until(lambda: point in points.passed)
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    question = _asked(stack, admitted)
    assert len(_question_rows(stack, admitted)) == 1
    stack.container.questions.answer(stack.owner, question.id, "green")
    assert "The user answered: green" in stack.reply(admitted).body


@pytest.mark.parametrize("point", ["tool.start.after", "tool.run.after", "tool.record.after"])
def test_a_crash_after_the_answer_asks_nothing_again(stack: Stack, point: str) -> None:
    points = Points({point: 2 if point == "tool.start.after" else 1})
    stack.start(points)
    admitted = _say(stack)
    question = _asked(stack, admitted)
    stack.container.questions.answer(stack.owner, question.id, "green")
    until(lambda: points.passed.count(point) >= points.due[point])
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    assert "The user answered: green" in stack.reply(admitted).body
    assert len(_question_rows(stack, admitted)) == 1


def test_answers_that_race_count_once(stack: Stack) -> None:
    stack.start()
    admitted = _say(stack)
    _asked(stack, admitted)
    stack.read_questions()
    sent: list[Admitted] = []
    threads = [
        threading.Thread(target=lambda n=n: sent.append(stack.say(f"answer {n}"))) for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stack.reply(admitted)
    assert [one.turn_id for one in sent].count(admitted.turn_id) == 1
    for one in sent:
        stack.reply(one)


def test_a_question_that_does_not_arrive_outside_is_told_to_the_model(stack: Stack) -> None:
    """It goes with its choices as text; here to an account that config.yaml does not have."""
    stack.start()
    admitted = _say(stack, chat="out", target=Target("phone", "chat-9"))
    body = stack.reply(admitted).body
    assert "did not reach the user (the account 'phone' is no longer in config.yaml). Go on" in body
    row, *_ = stack.container.database.run(sql("SELECT body FROM deliveries ORDER BY created"))
    assert "Which colour?\n   A. red\n   B. green\n\nYour next message here" in row.body["text"]
