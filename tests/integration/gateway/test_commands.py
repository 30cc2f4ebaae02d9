"""Commands through the gateway: each runs once, with its message, under the conversation's lock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Role, User
from habakkuk.conversations.types import Address, Author, ChatKind, ChatState, Outcome
from habakkuk.core.errors import Forbidden, UserError
from habakkuk.gateway.types import Admitted, Cursor, Inbound
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Points, Stack, until
from tests.integration.jobs.bench import in_threads
from tests.servers import ValkeyServer


def test_a_command_is_answered_at_once_and_makes_no_turn(stack: Stack) -> None:
    admitted = stack.say("/new")
    assert admitted.turn_id is None
    assert admitted.reply == "A new session starts with your next message."
    asked, answer = stack.rows(admitted)
    assert (asked.author, asked.kind, asked.state) == (
        Author.USER,
        ChatKind.COMMAND,
        ChatState.TAKEN,
    )
    assert (answer.author, answer.kind, answer.body) == (
        Author.SYSTEM,
        ChatKind.COMMAND,
        admitted.reply,
    )


@pytest.mark.parametrize(
    "body",
    ["/etc/passwd is a file", "/", "/ stop", "//stop", "/nosuchcommand now", "what does /stop do?"],
)
def test_what_is_no_command_is_a_message(stack: Stack, body: str) -> None:
    assert stack.say(body).turn_id is not None


@pytest.mark.parametrize("body", ["/STOP", " /stop ", "/stop\n", "/stop please", "/stop\nplease"])
def test_a_command_is_known_however_it_is_written(stack: Stack, body: str) -> None:
    assert stack.say(body).reply == "Nothing is running here."


def test_an_intake_without_commands_takes_them_as_words(stack: Stack) -> None:
    assert stack.say("/stop", commands=False).turn_id is not None


def test_the_same_command_twice_runs_once_and_gives_its_answer_again(stack: Stack) -> None:
    session = stack.say("hello").session_id
    first = stack.say("/new", remote_id="m2")
    now = stack.say("hello").session_id
    again = stack.say("/new", remote_id="m2")
    assert again.duplicate
    assert again.reply == first.reply
    assert again.seq in {first.seq, first.seq - 1}
    assert stack.say("hello").session_id == now != session


def test_the_same_command_at_many_doors_runs_once(stack: Stack) -> None:
    found: list[Admitted] = []
    in_threads(8, lambda n: found.append(stack.say("/new", chat=f"c{n % 4}", remote_id="m1")))
    assert sum(not admitted.duplicate for admitted in found) == 1
    assert {admitted.reply for admitted in found} == {found[0].reply}


def test_a_command_moves_the_cursor_too(stack: Stack) -> None:
    stack.say("/new", remote_id="u1", cursor=Cursor("offset", {"update": 1}))
    (row,) = stack.container.database.run(text("SELECT value FROM channel_state"))
    assert row.value == {"update": 1}


def test_a_viewer_may_not_use_the_commands_of_members(
    stack: Stack, person: Callable[[str, Role], User]
) -> None:
    inbound = Inbound(Address("web", "web", "v"), person("v", Role.VIEWER), "/stop", "api")
    with pytest.raises(Forbidden, match="/stop is for the member only"):
        stack.container.gateway.admit(inbound)


def test_stop_says_when_there_is_nothing_to_stop(stack: Stack) -> None:
    assert stack.say("/stop").reply == "Nothing is running here."


def test_stop_ends_the_next_turn_and_counts_the_rest(stack: Stack) -> None:
    first, second, third = (stack.say(word) for word in ("one", "two", "three"))
    assert stack.say("/stop").reply == (
        "Stopping. 2 more messages wait and will be answered next; /stop again stops that."
    )
    assert stack.turn(first.turn_id).outcome is Outcome.CANCELLED
    assert stack.say("/stop").reply == (
        "Stopping. 1 more message waits and will be answered next; /stop again stops that."
    )
    assert stack.turn(second.turn_id).outcome is Outcome.CANCELLED
    assert stack.turn(third.turn_id).ended is None


def test_stop_ends_the_running_turn_and_not_the_one_behind_it(stack: Stack) -> None:
    stack.start()
    first = stack.say("[[stall]] one")
    until(lambda: stack.model.requests)
    second = stack.say("two")
    assert stack.say("/stop").reply == (
        "Stopping. 1 more message waits and will be answered next; /stop again stops that."
    )
    assert stack.ended(first).outcome is Outcome.CANCELLED
    assert stack.reply(second).body == "echo: two"


def test_stop_again_stops_what_waits_while_the_first_takes_its_time_to_end(stack: Stack) -> None:
    """Such as one whose worker died: it ends with the next that takes it."""
    points = Points({"turn.end.before": 1})
    stack.start(points)
    first = stack.say("one")
    until(lambda: "turn.end.before" in points.passed)
    stack.stop()
    second = stack.say("two")
    assert (stack.say("/stop").reply or "").startswith("Stopping. 1 more message waits")
    assert stack.say("/stop").reply == "Stopping."
    assert stack.turn(second.turn_id).outcome is Outcome.CANCELLED
    assert stack.say("/stop").reply == "It is being stopped already."
    stack.free_all()
    stack.start()
    assert stack.ended(first).outcome is Outcome.CANCELLED


def test_stop_reaches_the_session_that_is_named(stack: Stack) -> None:
    first = stack.say("one")
    stack.say("/new")
    second = stack.say("two")
    assert stack.say("/stop", session_id=first.session_id).reply == "Stopping."
    assert stack.turn(first.turn_id).outcome is Outcome.CANCELLED
    assert stack.turn(second.turn_id).ended is None


def test_stop_reaches_a_turn_that_new_left_behind(stack: Stack) -> None:
    first = stack.say("one")
    stack.say("/new")
    assert stack.say("/stop").reply == "Stopping."
    assert stack.turn(first.turn_id).outcome is Outcome.CANCELLED


def test_stop_of_a_named_session_reaches_no_other(stack: Stack) -> None:
    named = stack.say("/new").session_id
    other = stack.say("one")
    assert stack.say("/stop", session_id=named).reply == "Nothing is running here."
    assert stack.turn(other.turn_id).ended is None


def test_status_is_that_of_the_session_that_is_named(stack: Stack) -> None:
    first = stack.say("one")
    stack.say("/new")
    current = stack.say("two").session_id
    asked = stack.say("/status", session_id=first.session_id)
    assert f"Session: {first.session_id} " in (asked.reply or "")
    assert asked.session_id == current


def test_status_says_what_is_away(
    home: Path, database_url: str, redis_server: ValkeyServer, model: ModelServer
) -> None:
    redis_server.stop()
    stack = Stack(home, database_url, redis_server.url(), model)
    reply = stack.say("/status").reply or ""
    stack.close()
    assert reply.endswith("Away: redis (answers come late and unstreamed)")


def test_new_while_a_turn_runs_leaves_that_turn_its_session(stack: Stack) -> None:
    stack.start()
    first = stack.say("[[delay 0.05]] [[tokens 10]] one")
    until(lambda: stack.model.requests)
    stack.say("/new")
    second = stack.say("two")
    assert second.session_id != first.session_id
    assert stack.reply(second).body == "echo: two"
    assert stack.reply(first).body.startswith("echo: one")
    assert len(stack.transcript(first)) == 2


def test_status_tells_what_is_going_on(stack: Stack) -> None:
    first = stack.say("one")
    stack.say("two")
    reply = stack.say("/status").reply or ""
    assert reply.splitlines()[:3] == [
        "Agent: habakkuk",
        f"Session: {first.session_id} (0 messages)",
        "Turns: 0 running, 2 waiting",
    ]
    assert "Model: " in reply
    assert "mine/fake-model" in reply
    assert "Workers: 0 alive" in reply
    assert "Away" not in reply


def test_status_counts_messages_and_workers(stack: Stack) -> None:
    stack.start()
    stack.reply(stack.say("one"))
    until(lambda: len(stack.container.jobs.workers_alive()) == 1)
    reply = stack.say("/status").reply or ""
    assert "(2 messages)" in reply
    assert "Turns: 0 running, 0 waiting" in reply
    assert "Workers: 1 alive" in reply


def test_the_cursor_goes_on_over_what_is_refused(
    stack: Stack, person: Callable[[str, Role], User]
) -> None:
    """A poller reads from its cursor on: it would bring the same message for ever."""
    viewer = person("v", Role.VIEWER)
    address = Address("mail", "m", "v")
    for number, words in enumerate(("/stop", " ", "x" * 2000)):
        cursor = Cursor("offset", {"update": number})
        with pytest.raises(UserError):
            stack.container.gateway.admit(Inbound(address, viewer, words, "mail", cursor=cursor))
        (row,) = stack.container.database.run(text("SELECT value FROM channel_state"))
        assert row.value == {"update": number}


def test_the_cursor_goes_on_over_an_answer_to_a_question(stack: Stack) -> None:
    stack.start()
    asked = stack.say("[[tool effect {}]] work", agent="careful", attended=True)
    until(lambda: stack.container.approvals.open(stack.owner))
    stack.read_questions()
    for number in (1, 2):
        stack.say("no", approves=True, remote_id="u1", cursor=Cursor("offset", {"update": number}))
        (row,) = stack.container.database.run(text("SELECT value FROM channel_state"))
        assert row.value == {"update": number}
    stack.reply(asked)
