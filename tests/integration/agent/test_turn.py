"""Whole turns: admitted, run by a Runner, answered by a fake model over HTTP."""

from __future__ import annotations

from habakkuk.conversations.types import Author, ChatKind, Outcome
from tests.fakes.stack import Stack, until


def test_a_message_is_answered_once(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("hello")
    assert stack.reply(admitted).body == "echo: hello"
    assert [row.author for row in stack.rows(admitted)] == [Author.USER, Author.AGENT]
    assert stack.transcript(admitted) == [("user", ["text", "text"]), ("assistant", ["text"])]
    assert stack.ended(admitted).outcome is Outcome.ANSWERED


def test_the_same_message_again_is_the_same_turn(stack: Stack) -> None:
    stack.start()
    first = stack.say("hello", remote_id="m1")
    again = stack.say("hello, changed", remote_id="m1")
    assert again.turn_id == first.turn_id
    assert again.duplicate
    stack.reply(first)
    assert len(stack.rows(first)) == 2


def test_messages_of_a_session_are_answered_in_order(stack: Stack) -> None:
    admitted = [stack.say(f"[[delay 0.01]] m{n}") for n in range(5)]
    stack.start()
    for item in admitted:
        stack.container.wake.wake("turns", item.turn_id or "")
    for item in admitted:
        stack.reply(item)
    answers = [r.body for r in stack.rows(admitted[0]) if r.author is Author.AGENT]
    assert answers == [f"echo: m{n}" for n in range(5)]


def test_joinable_messages_become_one_turn(stack: Stack) -> None:
    first = stack.say("one", joinable=True)
    second = stack.say("two", joinable=True)
    assert second.turn_id == first.turn_id
    stack.start()
    stack.container.wake.wake("turns", first.turn_id or "")
    stack.ended(first)
    assert "one" in stack.model.requests[-1].text
    assert "two" in stack.model.requests[-1].text


def test_parallel_calls_run_and_the_turn_goes_on(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[tool effect {}]] [[tool look {}]] work")
    reply = stack.reply(admitted)
    assert "done" in reply.body
    assert "all is well" in reply.body
    assert len(stack.trace("effects.log")) == 1
    assert stack.transcript(admitted) == [
        ("user", ["text", "text"]),
        ("assistant", ["tool_call", "tool_call"]),
        ("user", ["tool_result", "tool_result"]),
        ("assistant", ["text"]),
    ]


def test_a_tool_that_waits_parks_the_turn_and_goes_on_when_answered(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool ask {"question": "which?"}]] go')
    jobs = stack.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state == "waiting")
    with stack.container.database.transaction() as work:
        (wait,) = jobs.waits_of(work, admitted.turn_id or "")
    with stack.container.database.transaction() as work:
        assert jobs.resolve(work, wait.id, "answered", {"text": "the red one"})
    assert "answered: the red one" in stack.reply(admitted).body


def test_bad_tools_give_results_that_say_what_is_wrong(stack: Stack) -> None:
    stack.start()
    calls = [
        "[[tool nothing {}]]",
        '[[tool effect {"befor": 1}]]',
        '[[tool misbehave {"how": "raise"}]]',
        '[[tool misbehave {"how": "refuse"}]]',
        '[[tool misbehave {"how": "hang"}]]',
        '[[tool misbehave {"how": "text"}]]',
    ]
    body = stack.reply(stack.say(" ".join(calls))).body
    assert "there is no tool 'nothing'" in body
    assert "befor" in body
    assert "misbehave failed: RuntimeError" in body
    assert "there is nothing at that place" in body
    assert "did not end within 0.3 s" in body
    assert "a\ufffdb\ufffd" in body


def test_a_stopped_turn_frees_the_provider_and_says_so(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[stall]] tell me everything")
    until(lambda: stack.model.requests)
    reply = stack.say("/stop")
    assert reply.reply == "Stopping."
    turn = stack.ended(admitted)
    assert turn.outcome is Outcome.CANCELLED
    assert stack.transcript(admitted)[-1][0] == "assistant"


def test_a_provider_that_refuses_the_key_is_named(stack: Stack) -> None:
    stack.start()
    reply = stack.reply(stack.say("[[status 401]] hello"))
    assert reply.kind is ChatKind.ERROR
    assert "mine" in reply.body
    assert "MINE_KEY" in reply.body


def test_text_that_was_shown_before_a_cut_is_kept(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[cut 3]] one two three four five")
    reply = stack.reply(admitted)
    assert reply.author is Author.AGENT
    assert reply.data["partial"]
    assert stack.ended(admitted).outcome is Outcome.PARTIAL
    assert stack.reply(stack.say("and now?")).body == "echo: and now?"


def test_steps_are_limited_and_the_user_is_told(stack: Stack) -> None:
    stack.start()
    steps = " [[next]] ".join(f'[[tool look {{"seconds": 0.00{n}}}]]' for n in range(12))
    reply = stack.reply(stack.say(steps))
    assert "Stopped after 8 steps" in reply.body


def test_an_empty_answer_is_asked_for_once_more_then_said(stack: Stack) -> None:
    stack.start()
    reply = stack.reply(stack.say("[[empty]]"))
    assert reply.kind is ChatKind.NOTICE
    assert len(stack.model.requests) == 2


def test_new_starts_a_fresh_session(stack: Stack) -> None:
    stack.start()
    first = stack.say("remember the number 7")
    stack.reply(first)
    stack.say("/new")
    second = stack.say("what number?")
    stack.reply(second)
    assert second.session_id != first.session_id
    assert len(stack.model.requests[-1].body["messages"]) == 2


def test_a_released_turn_goes_on_in_another_worker(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[delay 0.05]] [[tokens 30]] slow")
    until(lambda: stack.model.requests)
    stack.stop()
    assert stack.turn(admitted.turn_id).ended is None
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    assert stack.reply(admitted).body.startswith("echo: slow")
    assert len(stack.rows(admitted)) == 2
