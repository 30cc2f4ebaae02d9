"""Calls that wait for an answer: over restarts, in any order, and to their end without one."""

from __future__ import annotations

from sqlalchemy import text as sql

from habakkuk.conversations.types import ChatKind, Outcome
from habakkuk.gateway.types import Admitted
from habakkuk.jobs.types import JobState, Wait
from tests.fakes.stack import Points, Stack, until
from tests.integration.agent.crashes import crashed, restart

JOURNAL = sql("SELECT result ->> 'text' FROM tool_calls")


def open_wait(stack: Stack, admitted: Admitted) -> Wait:
    """Wait until the turn is parked and return what it waits for."""
    jobs, turn = stack.container.jobs, admitted.turn_id or ""
    until(lambda: (job := jobs.get(turn)) and job.state is JobState.WAITING)
    with stack.container.database.transaction() as work:
        return jobs.waits_of(work, turn)[-1]


def resolve(stack: Stack, wait: Wait, outcome: str, **answer: str) -> bool:
    with stack.container.database.transaction() as work:
        return stack.container.jobs.resolve(work, wait.id, outcome, answer)


def test_a_waiting_call_waits_on_over_a_restart(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool ask {"question": "which?"}]] [[tool effect {}]] go')
    wait = open_wait(stack, admitted)
    stack.stop()
    stack.start()
    assert wait.payload == {"question": "which?"}
    assert resolve(stack, wait, "answered", text="the red one")
    body = stack.reply(admitted).body
    assert "answered: the red one" in body
    assert len(stack.trace("effects.log")) == 1


def test_an_answer_that_a_crash_kept_from_its_call_is_given_again(stack: Stack) -> None:
    points = Points({"tool.start.after": 2})
    stack.start(points)
    admitted = stack.say('[[tool ask {"question": "which?"}]] go')
    resolve(stack, open_wait(stack, admitted), "answered", text="the red one")
    crashed(stack, points, "tool.start.after", 2)
    assert stack.journal(admitted)["ask"] == ("running", "")
    restart(stack, admitted)
    assert "answered: the red one" in stack.reply(admitted).body


def test_two_waits_are_answered_in_any_order(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool ask {"question": "a"}]] [[tool ask {"question": "b"}]] go')
    open_wait(stack, admitted)
    with stack.container.database.transaction() as work:
        waits = {
            w.payload["question"]: w
            for w in stack.container.jobs.waits_of(work, admitted.turn_id or "")
        }
    assert resolve(stack, waits["b"], "answered", text="two")
    until(lambda: ("answered: two") in str(stack.container.database.run(JOURNAL)))
    open_wait(stack, admitted)
    assert resolve(stack, waits["a"], "answered", text="one")
    assert stack.reply(admitted).body == "results: answered: one | answered: two"


def test_a_wait_is_resolved_once(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool ask {"question": "which?"}]] go')
    wait = open_wait(stack, admitted)
    assert resolve(stack, wait, "answered", text="first")
    assert not resolve(stack, wait, "answered", text="second")
    assert "answered: first" in stack.reply(admitted).body


def test_a_wait_that_nobody_answers_expires(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool ask {"question": "which?", "expires_in": 0.1}]] go')
    assert stack.reply(admitted).body == "results: expired:"


def test_a_turn_cancelled_while_it_waits_ends_visibly_and_the_next_one_works(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool ask {"question": "which?"}]] go')
    wait = open_wait(stack, admitted)
    assert stack.say("/stop").reply == "Stopping."
    reply = stack.reply(admitted)
    assert (reply.kind, reply.body) == (ChatKind.NOTICE, "Stopped.")
    assert stack.turn(admitted.turn_id).outcome is Outcome.CANCELLED
    assert not resolve(stack, wait, "answered", text="too late")
    assert stack.reply(stack.say("and now?")).body == "echo: and now?"


def test_messages_queue_behind_a_waiting_turn(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool ask {"question": "which?"}]] go')
    wait = open_wait(stack, admitted)
    behind = stack.say("next")
    assert resolve(stack, wait, "answered", text="it")
    assert stack.reply(behind).body == "echo: next"
    bodies = [row.body for row in stack.rows(admitted)]
    assert bodies[2:] == ["results: answered: it", "echo: next"]
