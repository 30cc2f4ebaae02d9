"""Admission: one transaction from a message to its durable turn (blueprint §6)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Role, User
from habakkuk.conversations.store import acceptance, addresses, turns
from habakkuk.conversations.types import Acceptance, Address, Author, ChatState, NewChatMessage
from habakkuk.core.errors import Invalid, NotFound
from habakkuk.gateway.types import Admitted, Cursor, Inbound
from habakkuk.jobs.types import JobState
from tests.fakes.stack import Stack, until
from tests.integration.jobs.bench import in_threads

WEB = Address("web", "web", "c")


def counts(stack: Stack) -> dict[str, int]:
    return {
        name: stack.container.database.run(text(f"SELECT count(*) FROM {name}"))[0][0]
        for name in ("conversations", "chat_messages", "turns", "jobs")
    }


def inbound(stack: Stack, body: str, **fields: Any) -> Inbound:
    values: dict[str, Any] = {"address": WEB, "user": stack.owner, "origin": "api"} | fields
    return Inbound(text=body, **values)


def test_a_message_makes_one_row_one_turn_and_one_job(stack: Stack) -> None:
    admitted = stack.say("hello", reply_to={"to": 5})
    assert counts(stack) == {"conversations": 1, "chat_messages": 1, "turns": 1, "jobs": 1}
    (row,) = stack.rows(admitted)
    assert (row.seq, row.body, row.author, row.state) == (
        1,
        "hello",
        Author.USER,
        ChatState.QUEUED,
    )
    turn, job = stack.turn(admitted.turn_id), stack.container.jobs.get(admitted.turn_id or "")
    assert turn.reply_to == {"to": 5}
    assert (turn.origin, turn.agent, turn.user_id) == ("api", "habakkuk", stack.owner.id)
    assert job is not None
    assert (job.kind, job.queue, job.state) == ("turn", "turns", JobState.PENDING)
    assert job.serial_key == f"s:{admitted.session_id}"


def test_the_same_id_again_is_a_no_op(stack: Stack) -> None:
    first = stack.say("hello", remote_id="m1")
    again = stack.say("other words", remote_id="m1")
    assert again == replace(first, duplicate=True)
    assert counts(stack) == {"conversations": 1, "chat_messages": 1, "turns": 1, "jobs": 1}
    assert stack.say("next").seq == 2


def test_an_id_that_is_longer_than_an_index_takes_is_no_fault(stack: Stack) -> None:
    import random

    long = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
    first = stack.say("hello", remote_id=long)
    assert stack.say("hello", remote_id=long) == replace(first, duplicate=True)
    assert not stack.say("hello", remote_id=long + "x").duplicate


def test_the_same_id_at_many_doors_at_once_is_one_turn(stack: Stack) -> None:
    """At one address, at several of the account, and the first time at each of them."""
    found: list[Admitted] = []
    in_threads(12, lambda n: found.append(stack.say("hello", chat=f"c{n % 3}", remote_id="m1")))
    assert len({admitted.turn_id for admitted in found}) == 1
    assert sum(not admitted.duplicate for admitted in found) == 1
    assert {k: v for k, v in counts(stack).items() if k != "conversations"} == {
        "chat_messages": 1,
        "turns": 1,
        "jobs": 1,
    }


def test_the_same_id_of_another_account_is_another_message(stack: Stack) -> None:
    first = stack.container.gateway.admit(inbound(stack, "a", remote_id="m1"))
    other = Address("web", "second", "c")
    second = stack.container.gateway.admit(inbound(stack, "b", remote_id="m1", address=other))
    assert not second.duplicate
    assert second.turn_id != first.turn_id


def test_messages_that_come_at_once_are_numbered_without_a_gap_in_their_order(
    stack: Stack,
) -> None:
    found: list[Admitted] = []
    in_threads(20, lambda n: found.append(stack.say(f"m{n}", remote_id=f"m{n % 15}")))
    rows = stack.rows(found[0])
    assert [row.seq for row in rows] == list(range(1, 16))
    jobs = stack.container.database.run(
        text("SELECT m.seq FROM jobs j JOIN chat_messages m ON m.turn_id = j.id ORDER BY j.seq")
    )
    assert [row.seq for row in jobs] == list(range(1, 16))


def test_joinable_messages_of_a_person_are_one_turn(stack: Stack) -> None:
    first = stack.say("one", joinable=True)
    assert stack.say("two", joinable=True).turn_id == first.turn_id
    assert counts(stack)["jobs"] == 1


@pytest.mark.parametrize(("first", "second"), [(False, True), (True, False), (False, False)])
def test_who_waits_for_an_answer_has_a_turn_alone(stack: Stack, first: bool, second: bool) -> None:
    one = stack.say("one", joinable=first)
    assert stack.say("two", joinable=second).turn_id != one.turn_id


def test_nobody_joins_a_turn_that_has_begun(stack: Stack) -> None:
    first = stack.say("one", joinable=True)
    stack.container.database.run(text("UPDATE turns SET began = now()"))
    assert stack.say("two", joinable=True).turn_id != first.turn_id


def test_nobody_joins_a_turn_that_is_claimed(stack: Stack) -> None:
    first = stack.say("one", joinable=True)
    stack.container.database.run(text("UPDATE jobs SET state = 'running'"))
    assert stack.say("two", joinable=True).turn_id != first.turn_id


def test_nobody_joins_a_turn_that_comes_back_to_be_stopped(stack: Stack) -> None:
    """Its worker died after /stop: what joined would be withdrawn with it, unanswered."""
    first = stack.say("one", joinable=True)
    database = stack.container.database
    database.run(text("UPDATE jobs SET state = 'running', run_at = now()"))
    assert stack.say("/stop").reply == "Stopping."
    database.run(text("UPDATE jobs SET state = 'pending', crashes = 1"))
    second = stack.say("two", joinable=True)
    assert second.turn_id != first.turn_id
    stack.start()
    assert stack.reply(first).body == "Stopped."
    assert stack.reply(second).body == "echo: two"


def test_nobody_joins_another_persons_turn(
    stack: Stack, person: Callable[[str, Role], User]
) -> None:
    first = stack.say("one", joinable=True)
    other = inbound(stack, "two", joinable=True, user=person("guest", Role.MEMBER))
    assert stack.container.gateway.admit(other).turn_id != first.turn_id


def test_nobody_joins_a_turn_of_the_session_before(stack: Stack) -> None:
    first = stack.say("one", joinable=True)
    stack.say("/new")
    second = stack.say("two", joinable=True)
    assert second.turn_id != first.turn_id
    assert second.session_id != first.session_id


def test_a_message_that_joins_while_the_turn_begins_is_taken(stack: Stack) -> None:
    """The turn's first step waits for the conversation, and then sees what was added."""
    first = stack.say("one", joinable=True)
    database = stack.container.database
    with database.transaction() as work:
        conversation = addresses.lock(work, WEB)
        assert conversation is not None
        joined = turns.joinable(work, conversation.id, first.session_id, stack.owner.id)
        assert joined == first.turn_id
        message = NewChatMessage(Author.USER, "two", ChatState.QUEUED, user_id=stack.owner.id)
        asked = Acceptance(
            WEB, message, joined or "", ["habakkuk"], "api", {}, {}, "turn", "turns", opens=False
        )
        assert acceptance.accept_in(work, asked) is not None
        database.run(text("UPDATE jobs SET run_at = now()"))
        starting = threading.Thread(target=stack.start)
        starting.start()
        until(
            lambda: database.run(
                text(
                    "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                    " AND datname = current_database()"
                )
            ),
            30,
        )
    starting.join()
    stack.reply(first)
    assert [row.state for row in stack.rows(first)][:2] == ["taken", "taken"]
    assert stack.model.requests[0].text.split()[-2:] == ["one", "two"]


def test_another_agent_starts_a_session_of_its_own(stack: Stack) -> None:
    first = stack.say("one")
    second = stack.say("two", agent="other")
    third = stack.say("three")
    assert second.conversation_id == first.conversation_id
    assert second.session_id != first.session_id
    assert third.session_id == second.session_id
    assert [stack.turn(a.turn_id).agent for a in (first, second, third)] == [
        "habakkuk",
        "other",
        "other",
    ]


def test_the_same_agent_by_name_keeps_the_session(stack: Stack) -> None:
    assert stack.say("two", agent="habakkuk").session_id == stack.say("one").session_id


def test_a_message_that_comes_again_does_not_bring_its_agent_back(stack: Stack) -> None:
    first = stack.say("hello", remote_id="m1")
    second = stack.say("hello", remote_id="m2", agent="other")
    again = stack.say("hello", remote_id="m1", agent="habakkuk")
    assert again == replace(first, duplicate=True)
    assert stack.say("and now?").session_id == second.session_id


def test_an_unknown_agent_is_refused_with_the_known_ones(stack: Stack) -> None:
    with pytest.raises(
        Invalid,
        match="there is no agent 'nobody'; the agents are: habakkuk, careful, reader, other",
    ):
        stack.say("hello", agent="nobody")
    assert counts(stack)["conversations"] == 0


def test_a_conversation_whose_agent_is_gone_goes_on_with_the_main_one(stack: Stack) -> None:
    first = stack.say("one", agent="other")
    stack.container.settings.config.agents.pop("other")
    second = stack.say("two")
    assert stack.turn(second.turn_id).agent == "habakkuk"
    assert second.session_id != first.session_id


def test_a_session_is_continued_by_its_id(stack: Stack) -> None:
    first = stack.say("one")
    stack.say("/new")
    now = stack.say("two").session_id
    continued = stack.say("three", session_id=first.session_id)
    assert continued.session_id == first.session_id != now
    assert stack.say("four").session_id == now


def test_a_continued_session_keeps_its_agent(stack: Stack) -> None:
    first = stack.say("one")
    stack.say("two", agent="other")
    continued = stack.say("three", session_id=first.session_id)
    assert stack.turn(continued.turn_id).agent == "habakkuk"


def test_a_session_of_another_conversation_is_not_there(stack: Stack) -> None:
    elsewhere = stack.say("private", chat="elsewhere")
    stack.say("hello")
    before = counts(stack)
    for chat in ("c", "a new one"):
        with pytest.raises(NotFound, match="there is no session"):
            stack.say("let me in", chat=chat, session_id=elsewhere.session_id)
    assert counts(stack) == before


def test_an_unknown_session_is_not_there(stack: Stack) -> None:
    stack.say("hello")
    with pytest.raises(NotFound, match="there is no session 'ses_nowhere'"):
        stack.say("let me in", session_id="ses_nowhere")


@pytest.mark.parametrize("body", ["", " \n\t ", "\u3000"])
def test_an_empty_message_is_refused(stack: Stack, body: str) -> None:
    with pytest.raises(Invalid, match="the message is empty"):
        stack.say(body)
    assert counts(stack)["chat_messages"] == 0


def test_a_message_over_the_limit_is_refused_in_bytes(stack: Stack) -> None:
    assert stack.say("é" * 500).seq == 1
    with pytest.raises(Invalid, match="the message has 1,002 bytes; at most 1,000 are accepted"):
        stack.say("é" * 501)


def test_text_that_cannot_be_stored_is_cleaned(stack: Stack) -> None:
    admitted = stack.say(
        "a\x00b\ud83d",
        chat="x\x00y\ud83d",
        remote_id="m\x00\ud83d",
        reply_to={"k\x00": "v\ud83d"},
        seed=[{"role": "user", "blocks": [{"type": "text", "text": "s\x00\ud83d"}]}],
        cursor=Cursor("offset\x00", {"at\x00": "\ud83d"}),
    )
    assert stack.rows(admitted)[0].body == "a\ufffdb\ufffd"
    assert stack.turn(admitted.turn_id).reply_to == {"k\ufffd": "v\ufffd"}
    again = stack.say("a", chat="x\x00y\ud83d", remote_id="m\x00\ud83d")
    assert again.duplicate


def cursors(stack: Stack) -> list[tuple[str, Any]]:
    rows = stack.container.database.run(text("SELECT name, value FROM channel_state"))
    return [tuple(row) for row in rows]


def test_the_cursor_is_stored_with_its_message(stack: Stack) -> None:
    stack.say("one", cursor=Cursor("offset", {"update": 7}), remote_id="u7")
    stack.say("two", cursor=Cursor("offset", {"update": 8}), remote_id="u8")
    assert cursors(stack) == [("offset", {"update": 8})]


def test_the_cursor_goes_on_over_a_message_that_came_before(stack: Stack) -> None:
    stack.say("one", remote_id="u7")
    stack.say("one", remote_id="u7", cursor=Cursor("offset", {"update": 7}))
    assert cursors(stack) == [("offset", {"update": 7})]


def test_a_failure_before_the_commit_leaves_nothing(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault in the middle")

    monkeypatch.setattr("habakkuk.gateway.store.cursors.save", fail)
    with pytest.raises(RuntimeError):
        stack.say("one", cursor=Cursor("offset", {"update": 7}))
    assert set(counts(stack).values()) == {0}


def test_a_new_conversation_belongs_to_who_began_it(stack: Stack) -> None:
    stack.say("hello")
    found = addresses.find(stack.container.database, WEB)
    assert found is not None
    assert found.user_id == stack.owner.id
