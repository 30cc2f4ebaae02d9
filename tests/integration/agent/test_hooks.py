"""Hooks in a running server: a guard before tools, and what is told of turns and messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from habakkuk.agent.approval.types import Answer
from habakkuk.jobs.types import JobState
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Points, Stack, until

CONFIG = """
hooks:
  - {event: tool_before, match: "^effect$", command: "test ! -e forbid || { cat forbid; exit 1; }"}
  - event: tool_before
    match: "^exec$"
    command: "test ! -e slip || mv slip agents/careful/workspace/run.sh"
  - {event: tool_after, command: "cat >> heard"}
  - {event: turn_start, command: "cat >> heard"}
  - {event: turn_end, command: "cat >> heard"}
  - {event: message_in, command: "cat >> heard"}
  - {event: message_out, command: "cat >> heard"}
  - {event: session_new, command: "cat >> heard"}
"""


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    made = Stack(home, database_url, redis_url, model, more=CONFIG)
    yield made
    made.close()


def heard(stack: Stack, event: str) -> list[dict[str, Any]]:
    path = stack.home / "heard"
    lines = path.read_text().splitlines() if path.exists() else []
    return [said for line in lines if (said := json.loads(line))["event"] == event]


def test_a_guard_that_objects_keeps_a_call_from_running(stack: Stack) -> None:
    (stack.home / "forbid").write_text("not today")
    stack.start()
    admitted = stack.say("[[tool effect {}]] do it")
    assert "a hook forbids it: not today" in stack.reply(admitted).body
    assert stack.trace("effects.log") == []


def test_a_guard_that_agrees_lets_it_run(stack: Stack) -> None:
    stack.start()
    stack.ended(stack.say("[[tool effect {}]] do it"))
    assert len(stack.trace("effects.log")) == 1


def test_a_guard_is_asked_after_the_person(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[tool effect {}]] do it", agent="careful", attended=True)
    jobs = stack.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    (approval,) = stack.container.approvals.open(stack.owner)
    (stack.home / "forbid").write_text("not any more")
    stack.container.approvals.answer(stack.owner, approval.id, Answer.ONCE)
    assert "a hook forbids it: not any more" in stack.reply(admitted).body
    assert stack.trace("effects.log", "careful") == []


def test_what_was_allowed_is_looked_at_again_after_the_hooks(stack: Stack) -> None:
    script = stack.home / "agents/careful/workspace/run.sh"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("touch ran")
    stack.start()
    said = '[[tool exec {"command": "sh run.sh"}]] do it'
    admitted = stack.say(said, agent="careful", attended=True)
    jobs = stack.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    (approval,) = stack.container.approvals.open(stack.owner)
    # Somebody else changes it while the guard thinks.
    (stack.home / "slip").write_text("touch other")
    stack.container.approvals.answer(stack.owner, approval.id, Answer.ONCE)
    assert "what it would run has changed since" in stack.reply(admitted).body
    assert not (script.parent / "ran").exists()
    assert not (script.parent / "other").exists()


def test_a_turn_is_told_from_its_message_to_its_answer(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[tool effect {}]] do it")
    stack.ended(admitted)
    until(lambda: heard(stack, "message_out"))
    (came,) = heard(stack, "message_in")
    assert (came["text"], came["turn"]) == ("[[tool effect {}]] do it", admitted.turn_id)
    (began,) = heard(stack, "session_new")
    assert (began["session"], began["subject"]) == (admitted.session_id, "habakkuk")
    until(lambda: heard(stack, "turn_start"))
    until(lambda: heard(stack, "tool_after"))
    (after,) = heard(stack, "tool_after")
    assert (after["subject"], after["error"]) == ("effect", False)
    until(lambda: heard(stack, "turn_end"))
    (end,) = heard(stack, "turn_end")
    assert end["outcome"] == "answered"
    (out,) = heard(stack, "message_out")
    assert out["text"] == stack.reply(admitted).body


def test_a_message_that_comes_again_is_told_once(stack: Stack) -> None:
    stack.say("hello", remote_id="m1")
    stack.say("hello", remote_id="m1")
    stack.say("the last")
    until(lambda: len(heard(stack, "message_in")) >= 2)
    assert [one["text"] for one in heard(stack, "message_in")].count("hello") == 1


ASKED = '[[tool clarify {"questions": [{"question": "Which colour?"}]}]] go'


def test_an_answer_to_a_question_is_told_whichever_way_it_came(stack: Stack) -> None:
    stack.start()
    for answers in (_in_the_list, _as_a_message):
        admitted = stack.say(ASKED, attended=True)
        until(lambda: stack.container.questions.open(stack.owner))
        stack.read_questions()
        answers(stack, f"red by {answers.__name__}")
        stack.ended(admitted)
        (said,) = heard_of(stack, f"red by {answers.__name__}")
        assert (said["turn"], said["user"]) == (admitted.turn_id, stack.owner.id)
        assert (said["channel"], said["chat"], said["subject"]) == ("web", "c", "web")


def _in_the_list(stack: Stack, words: str) -> None:
    (question,) = stack.container.questions.open(stack.owner)
    stack.container.questions.answer(stack.owner, question.id, words)


def _as_a_message(stack: Stack, words: str) -> None:
    stack.say(words)


def heard_of(stack: Stack, words: str) -> list[dict[str, Any]]:
    """Return what a message with these words was told as, when it is."""

    def found() -> list[dict[str, Any]]:
        return [one for one in heard(stack, "message_in") if one["text"] == words]

    until(found)
    return found()


def test_guidance_is_told_once_without_its_command(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool look {"seconds": 1.5}]] [[next]] [[tool effect {}]] work')
    until(lambda: stack.trace("looks.log"))
    stack.say("/status")
    for _ in range(2):
        stack.say("/steer use tabs", remote_id="s1")
    stack.reply(admitted)
    (said,) = heard_of(stack, "use tabs")
    assert said["turn"] == admitted.turn_id
    assert [one["text"] for one in heard(stack, "message_in") if "/" in one["text"]] == []


def test_guidance_with_nothing_running_is_told_as_the_message_that_it_is(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("/steer hello")
    stack.reply(admitted)
    (said,) = heard_of(stack, "hello")
    assert said["turn"] == admitted.turn_id


def test_a_turn_that_goes_on_after_a_crash_tells_of_its_start_again(stack: Stack) -> None:
    stack.start(Points({"model.call.before": 1}))
    admitted = stack.say("hello")
    until(lambda: heard(stack, "turn_start"))
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    stack.ended(admitted)
    until(lambda: len(heard(stack, "turn_start")) == 2)
    until(lambda: len(heard(stack, "turn_end")) == 1)
