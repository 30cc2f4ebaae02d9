"""Tool calls over crashes, waits and tools that misbehave (blueprint §7)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import text as sql

from habakkuk.agent import invocation, outage
from habakkuk.agent.closing import STOPPED
from habakkuk.agent.repair import INTERRUPTED
from habakkuk.conversations.store import journal
from habakkuk.conversations.types import Outcome
from habakkuk.db.engine import DatabaseAway
from tests.fakes.model_script import DONE, Reply, chunk
from tests.fakes.model_server import Recorded
from tests.fakes.stack import Points, Stack, until
from tests.integration.agent.crashes import crashed, restart

JOURNAL = sql("SELECT result ->> 'text' FROM tool_calls")


def test_a_call_that_a_crash_interrupted_is_not_repeated(stack: Stack) -> None:
    points = Points({"tool.start.after": 1})
    stack.start(points)
    admitted = stack.say("[[tool effect {}]] go")
    crashed(stack, points, "tool.start.after")
    assert stack.journal(admitted)["effect"] == ("running", "")
    restart(stack, admitted)
    assert INTERRUPTED in stack.reply(admitted).body
    assert stack.trace("effects.log") == []


def test_a_call_that_only_reads_runs_again_after_a_crash(stack: Stack) -> None:
    points = Points({"tool.start.after": 1})
    stack.start(points)
    admitted = stack.say("[[tool look {}]] go")
    crashed(stack, points, "tool.start.after")
    restart(stack, admitted)
    assert "all is well" in stack.reply(admitted).body
    assert len(stack.trace("looks.log")) == 1


@pytest.mark.parametrize("point", ["turn.append.before", "turn.append.after"])
def test_a_finished_call_keeps_its_result_over_a_crash(stack: Stack, point: str) -> None:
    points = Points({point: 2})
    stack.start(points)
    admitted = stack.say("[[tool effect {}]] go")
    crashed(stack, points, point, 2)
    state, text = stack.journal(admitted)["effect"]
    assert state == "done"
    restart(stack, admitted)
    assert text in stack.reply(admitted).body
    assert len(stack.trace("effects.log")) == 1


@pytest.mark.parametrize(
    ("point", "number"),
    [
        ("turn.take.before", 1),
        ("turn.take.after", 1),
        ("model.call.before", 2),
        ("model.first_text", 1),
        ("turn.append.before", 1),
        ("turn.append.after", 1),
        ("tool.start.before", 1),
        ("turn.end.before", 1),
    ],
)
def test_a_crash_anywhere_gives_one_answer_and_one_effect(
    stack: Stack, point: str, number: int
) -> None:
    points = Points({point: number})
    stack.start(points)
    admitted = stack.say("[[tool effect {}]] go")
    crashed(stack, points, point, number)
    restart(stack, admitted)
    assert "done call_" in stack.reply(admitted).body
    assert len(stack.trace("effects.log")) == 1
    assert len(stack.rows(admitted)) == 2
    assert stack.transcript(admitted) == [
        ("user", ["text", "text"]),
        ("assistant", ["tool_call"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]


@pytest.mark.parametrize(
    ("point", "number", "written"),
    [
        ("turn.take.before", 1, 0),
        ("turn.append.before", 1, 1),
        ("tool.start.before", 1, 2),
        ("tool.run.after", 1, 2),
        ("turn.append.before", 2, 2),
        ("turn.end.before", 1, 3),
    ],
)
def test_a_worker_that_lost_its_turn_writes_nothing_more(
    stack: Stack, point: str, number: int, written: int
) -> None:
    def lose() -> None:
        stack.container.database.run(sql("UPDATE jobs SET fence = nextval('fence_seq')"))

    points = Points({point: number}, lose)
    host = stack.start(points)
    admitted = stack.say("[[tool effect {}]] go")
    until(lambda: points.passed.count(point) >= number and host.runner.active == 0)
    assert len(stack.transcript(admitted)) == written
    assert len(stack.rows(admitted)) == 1
    assert stack.turn(admitted.turn_id).ended is None


def test_a_crash_after_the_end_changes_nothing(stack: Stack) -> None:
    points = Points({"turn.end.after": 1})
    stack.start(points)
    admitted = stack.say("hello")
    crashed(stack, points, "turn.end.after")
    restart(stack, admitted)
    assert stack.reply(admitted).body == "echo: hello"
    assert len(stack.rows(admitted)) == 2
    assert len(stack.model.requests) == 1


def test_a_tool_that_does_not_listen_is_given_up(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invocation, "_GRACE_SECONDS", 0.05)
    stack.start()
    admitted = stack.say('[[tool misbehave {"how": "deaf"}]] go')
    late = "misbehave did not end within 0.3 s and was given up"
    assert stack.reply(admitted).body == f"results: {late}"
    assert stack.journal(admitted)["misbehave"] == ("done", late)


def test_a_call_that_no_thread_took_in_time_reads_that_it_did_not_run(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invocation, "_GRACE_SECONDS", 0.05)
    stack.container.tool_pool._executor._max_workers = 1
    stack.start()
    admitted = stack.say('[[tool misbehave {"how": "deaf"}]] [[tool misbehave {"how": "text"}]] go')
    given_up, not_run = stack.reply(admitted).body.removeprefix("results: ").split(" | ")
    assert given_up == "misbehave did not end within 0.3 s and was given up"
    assert not_run.startswith("misbehave was not run: ")


def test_a_late_result_is_dropped_while_the_turn_goes_on(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invocation, "_GRACE_SECONDS", 0.05)
    points = Points()
    stack.start(points)
    admitted = stack.say(
        '[[tool misbehave {"how": "deaf"}]] [[next]] [[tool effect {"before": 25}]] go'
    )
    until(lambda: points.passed.count("tool.run.after") == 1)
    until(lambda: stack.journal(admitted)["misbehave"][0] == "done")
    stack.say("/stop")
    stack.ended(admitted)
    assert "given up" in stack.journal(admitted)["misbehave"][1]


def test_a_stop_ends_running_tools_and_says_what_is_known_of_them(stack: Stack) -> None:
    stack.start()
    admitted = stack.say('[[tool effect {"before": 25}]] [[tool look {}]] go')
    until(lambda: stack.journal(admitted).get("look", ("", ""))[0] == "done")
    stack.say("/stop")
    assert stack.ended(admitted).outcome is Outcome.CANCELLED
    assert stack.trace("effects.log") == []
    stored = stack.container.conversations.transcript(stack.principal, admitted.session_id)
    results = [b.text for b in stored[2].message.blocks if b.type == "tool_result"]
    assert sorted(results) == ["all is well", STOPPED]
    assert stack.reply(stack.say("and now?")).body == "echo: and now?"


def test_text_before_a_call_is_not_said_again_when_the_call_is_stopped(stack: Stack) -> None:
    def script(request: Recorded) -> Reply | None:
        if request.body["messages"][-1]["role"] != "user" or "go" not in request.text:
            return None
        call = {"index": 0, "id": "c1", "type": "function"}
        call["function"] = {"name": "effect", "arguments": json.dumps({"before": 25})}
        return Reply(
            [
                chunk({"content": "I begin."}),
                chunk({"tool_calls": [call]}),
                chunk({}, "tool_calls"),
                DONE,
            ]
        )

    stack.model.script = script
    stack.start()
    admitted = stack.say("go")
    until(lambda: "effect" in stack.journal(admitted))
    stack.say("/stop")
    reply = stack.reply(admitted)
    assert reply.body == "Stopped."
    stored = stack.container.conversations.transcript(stack.principal, admitted.session_id)
    assert [m.message.text for m in stored if "I begin." in m.message.text] == ["I begin."]


def test_ids_that_a_service_uses_again_are_renamed(stack: Stack) -> None:
    def script(request: Recorded) -> Reply | None:
        if request.body["messages"][-1]["role"] != "user":
            return None
        call = {"index": 0, "id": "call_0", "type": "function"}
        call["function"] = {"name": "effect", "arguments": "{}"}
        return Reply([chunk({"tool_calls": [call]}), chunk({}, "tool_calls"), DONE])

    stack.model.script = script
    stack.start()
    for text in ("one", "two", "three"):
        assert "done" in stack.reply(stack.say(text)).body
    names = stack.trace("effects.log")
    assert names[0] == "call_0"
    assert len(set(names)) == 3


def test_cut_arguments_are_neither_run_nor_replayed(stack: Stack) -> None:
    """K26: the length limit cuts the JSON of a call."""

    def script(request: Recorded) -> Reply | None:
        if request.body["messages"][-1]["role"] != "user":
            return None
        call = {"index": 0, "id": "c1", "type": "function"}
        call["function"] = {"name": "effect", "arguments": '{"before": 1, "af'}
        return Reply([chunk({"tool_calls": [call]}), chunk({}, "length"), DONE])

    stack.model.script = script
    stack.start()
    admitted = stack.say("go")
    assert "length limit" in stack.reply(admitted).body
    assert stack.trace("effects.log") == []
    asked = stack.model.requests[1].body["messages"]
    assert asked[-2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "length limit" in asked[-1]["content"]


def test_output_that_cannot_be_stored_is_cleaned(stack: Stack) -> None:
    """K28 and K29 through a whole turn, in and out."""
    stack.start()
    admitted = stack.say('a\x00b \ud83d [[tool misbehave {"how": "text"}]]')
    assert stack.reply(admitted).body == "results: a\ufffdb\ufffd"
    assert stack.rows(admitted)[0].body.startswith("a\ufffdb \ufffd")


def test_a_call_that_waits_for_a_thread_does_not_start_after_the_stop(stack: Stack) -> None:
    pool = stack.container.tool_pool
    pool._executor._max_workers = 1
    stack.start()
    admitted = stack.say('[[tool look {"seconds": 20}]] [[tool look {}]] go')
    until(lambda: stack.trace("looks.log"))
    stack.say("/stop")
    stack.ended(admitted)
    through = threading.Event()
    pool.submit(through.set)
    assert through.wait(30)
    assert len(stack.trace("looks.log")) == 1


def test_a_turn_that_is_cancelled_between_two_workers_tells_what_became_of_its_calls(
    stack: Stack,
) -> None:
    points = Points({"tool.start.after": 1})
    stack.start(points)
    admitted = stack.say("[[tool effect {}]] go")
    crashed(stack, points, "tool.start.after")
    stack.take_over(admitted)
    stack.say("/stop")
    stack.start()
    assert stack.ended(admitted).outcome is Outcome.CANCELLED
    assert stack.journal(admitted)["effect"] == ("done", STOPPED)
    assert stack.reply(stack.say("and now?")).body == "echo: and now?"
    assert stack.transcript(admitted)[:4] == [
        ("user", ["text", "text"]),
        ("assistant", ["tool_call"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]


@pytest.mark.parametrize("call", ["effect {}", 'ask {"question": "which?", "expires_in": 0.1}'])
def test_what_a_call_gave_is_recorded_when_the_database_is_back(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(outage, "_PAUSE_SECONDS", 0.01)
    for name in ("end", "wait"):
        monkeypatch.setattr(journal, name, _away_at_first(getattr(journal, name)))
    stack.start()
    admitted = stack.say(f"[[tool {call}]] go")
    body = stack.reply(admitted).body
    assert body.startswith(("results: done call_", "results: expired"))
    assert len(stack.trace("effects.log")) == call.count("effect")


def test_a_result_that_cannot_be_recorded_yet_is_not_given_up(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool was in time; that its record was late must not read as if the tool were."""
    monkeypatch.setattr(invocation, "_GRACE_SECONDS", 0.05)
    monkeypatch.setattr(outage, "_PAUSE_SECONDS", 0.5)
    monkeypatch.setattr(journal, "end", _away_at_first(journal.end))
    stack.start()
    admitted = stack.say('[[tool misbehave {"how": "text"}]] go')
    assert stack.reply(admitted).body == "results: a\ufffdb\ufffd"


def _away_at_first(write: Callable[..., bool]) -> Callable[..., bool]:
    """Return `write`, for which the database is away three times."""
    left = [DatabaseAway("it restarts")] * 3

    def flaky(*given: object) -> bool:
        if left:
            raise left.pop()
        return write(*given)

    return flaky
