"""Every turn ends with something the user sees (K23, K36, K37, K39)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from habakkuk.conversations.types import Author, ChatKind, ChatMessage, Outcome
from habakkuk.core.clock import Clock
from habakkuk.events.types import Event, EventType
from habakkuk.gateway.types import Admitted
from habakkuk.jobs.types import JobState
from tests.fakes.model_script import DONE, Reply, chunk
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.stack import Points, Stack, until

CUT = "The answer broke off: the connection to the model was lost. Ask again for the rest."
LENGTH = "The answer was cut at the model's output limit. Say “go on” for the rest."


# Nine hours ago a worker was killed with the turn, or gave it back as it ended.
_KILLED = "UPDATE jobs SET lease_until = now() - interval '9 hours'"
_STOPPED = (
    "UPDATE jobs SET state = 'pending', run_at = now() - interval '9 hours', owner = NULL,"
    " owner_lock = NULL, lease_until = NULL"
)


def finishing(reason: str | None, *deltas: dict[str, object]) -> Reply:
    return Reply([*(chunk(delta) for delta in deltas), chunk({}, reason), DONE])


def answered(stack: Stack, *replies: Reply) -> ChatMessage:
    """Return what the user sees when the model gives these replies, the last one for ever."""
    left = list(replies)

    def script(request: Recorded) -> Reply:
        return left.pop(0) if len(left) > 1 else left[0]

    stack.model.script = script
    stack.start()
    return stack.reply(stack.say("hello"))


def test_a_length_limit_keeps_the_text_and_says_so(stack: Stack) -> None:
    reply = answered(stack, finishing("length", {"content": "Half an ans"}))
    assert (reply.author, reply.body) == (Author.AGENT, "Half an ans")
    assert LENGTH in reply.data["notice"]
    assert len(stack.model.requests) == 1


def test_a_length_limit_before_any_text_says_so_and_not_that_it_was_empty(stack: Stack) -> None:
    reply = answered(stack, finishing("length", {"reasoning_content": "hm"}))
    assert reply.kind is ChatKind.NOTICE
    assert LENGTH in reply.body
    assert "empty" not in reply.body
    assert len(stack.model.requests) == 1


@pytest.mark.parametrize("reason", ["content_filter", "refusal"])
def test_a_refusal_is_said(stack: Stack, reason: str) -> None:
    reply = answered(stack, finishing(reason))
    assert "declined" in reply.body
    assert len(stack.model.requests) == 1


@pytest.mark.parametrize("reason", ["weird", "unknown", None])
def test_whole_text_with_an_unknown_reason_is_taken(stack: Stack, reason: str | None) -> None:
    reply = answered(stack, finishing(reason, {"content": "All of it."}))
    assert (reply.author, reply.body) == (Author.AGENT, "All of it.")
    assert len(stack.model.requests) == 1


def test_tool_use_without_a_call_ends_the_turn_with_its_text(stack: Stack) -> None:
    reply = answered(stack, finishing("tool_calls", {"content": "I need no tool."}))
    assert reply.body == "I need no tool."
    assert len(stack.model.requests) == 1


@pytest.mark.parametrize(
    "blank",
    [
        finishing("stop"),
        finishing("weird"),
        finishing("tool_calls"),
        finishing("stop", {"content": " \n"}),
        finishing("stop", {"reasoning_content": "hm"}),
    ],
    ids=["empty", "unknown", "tool_calls", "white", "thinking"],
)
def test_a_blank_answer_is_asked_for_once_more_and_then_said(stack: Stack, blank: Reply) -> None:
    reply = answered(stack, blank)
    assert reply.kind is ChatKind.NOTICE
    assert "The model gave an empty answer twice." in reply.body
    assert len(stack.model.requests) == 2


def test_a_second_answer_that_is_not_blank_is_the_answer(stack: Stack) -> None:
    reply = answered(stack, finishing("stop"), finishing("stop", {"content": "Here."}))
    assert (reply.author, reply.body) == (Author.AGENT, "Here.")


def test_the_turn_after_a_blank_one_is_valid(stack: Stack) -> None:
    answered(stack, finishing("stop"))
    stack.model.script = None
    assert stack.reply(stack.say("and now?")).body == "echo: and now?"


def test_a_stream_that_breaks_after_text_ends_partial_with_a_retry(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[cut 2]] one two three four")
    reply = stack.reply(admitted)
    assert reply.author is Author.AGENT
    assert (reply.data["partial"], reply.data["retry"], reply.data["notice"]) == (True, True, CUT)
    assert stack.ended(admitted).outcome is Outcome.PARTIAL
    assert len(stack.model.requests) == 1
    stored = stack.container.conversations.transcript(stack.principal, admitted.session_id)
    (block,) = stored[-1].message.blocks
    assert block.type == "text"
    assert block.partial


def test_an_overload_inside_a_200_after_text_is_no_text(stack: Stack) -> None:
    stack.start()
    reply = stack.reply(stack.say("[[error-in-200 2]] one two three four"))
    assert "overloaded" not in reply.body
    assert reply.data["notice"] == CUT


def test_a_body_of_json_instead_of_events_is_an_error_that_is_said(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[json-error]] hello")
    reply = stack.reply(admitted)
    assert reply.kind is ChatKind.ERROR
    assert "mine" in reply.body
    assert stack.ended(admitted).outcome is Outcome.FAILED
    assert len(stack.model.requests) <= 3


def test_a_failed_turn_says_how_to_try_again_and_the_next_one_works(stack: Stack) -> None:
    stack.model.script = lambda request: Reply([b"{}"], 401, "application/json")
    stack.start()
    admitted = stack.say("hello")
    reply = stack.reply(admitted)
    assert reply.body.endswith("Send the message again to try once more.")
    assert reply.data["retry"]
    job = stack.container.jobs.get(admitted.turn_id or "")
    assert job is not None
    assert job.state is JobState.FAILED
    stack.model.script = None
    assert stack.reply(stack.say("and now?")).body.startswith("echo: ")


def test_a_stop_keeps_what_was_shown(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[stall]] one two three four")
    until(lambda: stack.model.requests)
    hub = stack.container.live
    until(lambda: any(e.type == "text.delta" for e in hub.replay(admitted.session_id)))
    stack.say("/stop")
    reply = stack.reply(admitted)
    assert reply.author is Author.AGENT
    assert reply.body.startswith("echo:")
    assert (reply.data["notice"], reply.data["partial"]) == ("Stopped.", True)


def test_a_turn_stopped_before_it_began_withdraws_its_message(stack: Stack) -> None:
    admitted = stack.say("hello")
    assert stack.say("/stop").reply == "Stopping."
    reply = stack.reply(admitted)
    assert (reply.kind, reply.body) == (ChatKind.NOTICE, "Stopped.")
    assert stack.rows(admitted)[0].state == "withdrawn"
    stack.start()
    assert stack.reply(stack.say("next")).body == "echo: next"
    assert "hello" not in stack.model.requests[0].text


def test_a_turn_whose_messages_are_all_withdrawn_ends_without_a_call(stack: Stack) -> None:
    from habakkuk.conversations.store import chat

    admitted = stack.say("never mind")
    with stack.container.database.transaction() as work:
        chat.withdraw(work, admitted.conversation_id, admitted.turn_id or "")
    stack.start()
    assert stack.ended(admitted).outcome is Outcome.WITHDRAWN
    assert stack.model.requests == []


def test_a_turn_that_is_given_up_says_so(stack: Stack) -> None:
    """What the Runner or the sweep ends is told to the user too."""
    admitted = stack.say("hello")
    job = stack.container.jobs.get(admitted.turn_id or "")
    assert job is not None
    handler = stack.container.handlers["turn"]
    for _ in range(2):
        with stack.container.database.transaction() as work:
            handler.lock(work, job)
            handler.ended(work, job, JobState.FAILED, "it killed its worker 3 times")
    rows = stack.rows(admitted)
    assert [row.state for row in rows] == ["taken", "sent"]
    assert rows[1].kind is ChatKind.ERROR
    assert rows[1].body == (
        "This message could not be answered: it killed its worker 3 times. "
        "Send the message again to try once more."
    )
    assert stack.turn(admitted.turn_id).outcome is Outcome.FAILED


class _Later(Clock):
    """An hour goes by with every look at the clock."""

    def __init__(self) -> None:
        self.hours = 0

    def now(self):  # type: ignore[no-untyped-def] # - the parent's
        from datetime import timedelta

        self.hours += 1
        return super().now() + timedelta(hours=self.hours)


@pytest.fixture
def slow(
    home: Path,
    database_url: str,
    redis_url: str,
    model: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    monkeypatch.setattr("habakkuk.bootstrap.assembly.Clock", _Later)
    made = Stack(home, database_url, redis_url, model)
    yield made
    made.close()


def test_a_turn_that_takes_too_long_ends_and_says_what_it_did(slow: Stack) -> None:
    """Also in its first run, which loaded the turn before it began."""
    slow.start()
    admitted = slow.say("[[tool look {}]] [[next]] [[tool look {}]] go")
    reply = slow.reply(admitted)
    assert reply.kind is ChatKind.NOTICE
    assert reply.body.startswith("Stopped after ")
    assert "minutes without a final answer. What was done so far is kept" in reply.body
    assert slow.ended(admitted).outcome is Outcome.PARTIAL


@pytest.mark.parametrize("end", [_KILLED, _STOPPED])
def test_the_time_in_which_the_server_was_off_is_not_the_turn_s(stack: Stack, end: str) -> None:
    """A machine that comes back in the morning answers what it was asked at night."""
    points = Points({"model.call.before": 1})
    stack.start(points)
    admitted = stack.say("hello")
    until(lambda: "model.call.before" in points.passed)
    stack.stop()
    database = stack.container.database
    database.run(sql("UPDATE turns SET began = began - interval '9 hours'"))
    database.run(sql(end))
    stack.start()
    assert stack.reply(admitted).body == "echo: hello"
    assert stack.ended(admitted).outcome is Outcome.ANSWERED


def test_an_agent_that_is_gone_from_the_config_is_named(stack: Stack, home: Path) -> None:
    admitted = stack.say("hello", agent="other")
    stack.container.settings.config.agents.pop("other")
    stack.container.selection.agents.pop("other")  # type: ignore[attr-defined] # - a dict in fact
    stack.start()
    reply = stack.reply(admitted)
    assert reply.kind is ChatKind.ERROR
    assert "'other' is no longer configured" in reply.body


def test_a_new_session_starts_with_its_seed_once(stack: Stack) -> None:
    seed = [
        {"role": "user", "blocks": [{"type": "text", "text": "my name is Ada"}]},
        {"role": "assistant", "blocks": [{"type": "text", "text": "hello Ada"}]},
    ]
    stack.start()
    first = stack.say("who am I?", seed=seed)
    stack.reply(first)
    contents = [m["content"] for m in stack.model.requests[0].body["messages"][1:]]
    assert contents[:2] == ["my name is Ada", "hello Ada"]
    assert contents[2].endswith("who am I?")
    stack.reply(stack.say("again", seed=seed))
    assert len(stack.model.requests[1].body["messages"]) == 1 + 3 + 2


def test_the_prompt_of_a_session_is_the_same_bytes_in_every_turn(stack: Stack) -> None:
    stack.start()
    for text in ("one", "two"):
        stack.reply(stack.say(text))
    one, two = (request.body["messages"] for request in stack.model.requests)
    assert two[: len(one)] == one
    assert stack.model.requests[0].body["tools"] == stack.model.requests[1].body["tools"]


def test_the_prompt_is_frozen_when_the_config_changes(stack: Stack) -> None:
    stack.start()
    stack.reply(stack.say("one"))
    agents = stack.container.settings.config.agents
    agents["habakkuk"] = agents["habakkuk"].model_copy(update={"prompt": "Speak like a pirate."})
    stack.reply(stack.say("two"))
    systems = [request.body["messages"][0]["content"] for request in stack.model.requests]
    assert systems[0] == systems[1]
    stack.say("/new")
    stack.reply(stack.say("three"))
    assert "pirate" in stack.model.requests[-1].body["messages"][0]["content"]


def test_every_call_is_in_the_ledger(stack: Stack) -> None:
    from sqlalchemy import text

    stack.start()
    admitted = stack.say("[[tool look {}]] go")
    stack.reply(admitted)
    rows = stack.container.database.run(
        text(
            "SELECT turn_id, session_id, user_id, agent, provider, model, input, output FROM usage"
        )
    )
    assert len(rows) == 2
    for row in rows:
        assert tuple(row)[:6] == (
            admitted.turn_id,
            admitted.session_id,
            stack.owner.id,
            "habakkuk",
            "mine",
            "fake-model",
        )
        assert row.input > 0


def test_a_key_in_a_services_words_is_not_shown(stack: Stack) -> None:
    said = {
        "error": {"message": "no access for sk-0123456789abcdefghij", "code": "permission_error"}
    }
    reply = answered(stack, Reply([json.dumps(said).encode()], 403, "application/json"))
    assert reply.kind is ChatKind.ERROR
    assert "no access for [redacted]" in reply.body
    (job,) = stack.container.jobs.list()
    assert "sk-0123456789abcdefghij" not in (job.error or "")


def test_text_after_a_blank_answer_is_shown_whole(stack: Stack) -> None:
    said = ["\n\n", "Hello"]
    stack.model.script = lambda request: finishing("stop", {"content": said.pop(0)})
    stack.start()
    admitted = stack.say("hello")
    stack.reply(admitted)
    until(lambda: any(e.type is EventType.TURN_ENDED for e in replayed(stack, admitted)))
    whole = ""
    # How many pieces it comes in depends on how soon the second answer follows the first.
    for event in replayed(stack, admitted):
        if event.type is EventType.TEXT:
            assert event.data["at"] == len(whole)
            whole += event.data["text"]
    assert whole == "\n\nHello"


def replayed(stack: Stack, admitted: Admitted) -> list[Event]:
    return stack.container.live.replay(admitted.session_id)


def test_a_turn_that_used_up_its_tokens_stops_with_what_it_did(
    home: Path, database_url: str, redis_url: str, model: ModelServer
) -> None:
    more = "  thrifty: {model: mine/fake-model, max_turn_tokens: 1, permissions: full}"
    stack = Stack(home, database_url, redis_url, model, more)
    stack.start()
    try:
        admitted = stack.say("[[tool effect {}]] go", agent="thrifty")
        body = stack.reply(admitted).body
    finally:
        stack.close()
    assert re.fullmatch(r"Stopped after [\d,]+ tokens without a final answer\. What was .*", body)
    assert len(stack.model.requests) == 1
    assert len(stack.trace("effects.log", "thrifty")) == 1


def test_absurd_counts_cost_no_answer(stack: Stack) -> None:
    counts = {"prompt_tokens": -5, "completion_tokens": 1_000_000_000_000}
    parts = [chunk({"content": "all said"}), chunk({}, "stop", usage=counts), DONE]
    assert answered(stack, Reply(parts)).body == "all said"
    assert len(stack.model.requests) == 1


def test_a_history_that_came_along_is_no_step_of_the_turn(stack: Stack) -> None:
    """Clients of /v1 send the whole conversation each time."""
    stack.start()
    said = {"type": "text", "text": "said before"}
    seed = [{"role": role, "blocks": [said]} for _ in range(60) for role in ("user", "assistant")]
    admitted = stack.say("[[tool look {}]] the end", seed=seed)
    assert stack.ended(admitted).outcome is Outcome.ANSWERED
