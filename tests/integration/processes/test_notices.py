"""The end of a process as a turn of the session that started it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from habakkuk.conversations.types import Author, ChatKind, Outcome, Target
from habakkuk.gateway.types import Admitted, Inbound
from habakkuk.keeper import notices
from habakkuk.keeper.service import Keeper
from tests.fakes.stack import Stack, until
from tests.integration.processes.keeping import Keeping

_TURNS = text("SELECT id, reply_to FROM turns WHERE origin = 'process' ORDER BY created")


def _ask(stack: Stack, command: str, **fields: Any) -> Admitted:
    arguments = json.dumps({"command": command, "background": True, "notify": True})
    return stack.say(f"go [[tool exec {arguments}]]", **fields)


def _turns(stack: Stack) -> list[str]:
    return [row.id for row in stack.container.database.run(_TURNS)]


def test_an_end_starts_a_turn_of_its_session_whose_answer_is_there(keeping: Keeping) -> None:
    stack = keeping.stack
    stack.start()
    admitted = _ask(stack, "sleep 0.5; exit 4")
    stack.ended(admitted)
    until(lambda: _turns(stack))
    (turn,) = _turns(stack)
    ended = stack.ended(replace(admitted, turn_id=turn))
    assert ended.outcome is Outcome.ANSWERED
    assert ended.session_id == admitted.session_id
    rows = stack.rows(admitted)
    assert [(row.author, row.kind) for row in rows] == [
        (Author.USER, ChatKind.MESSAGE),
        (Author.AGENT, ChatKind.MESSAGE),
        (Author.SYSTEM, ChatKind.EVENT),
        (Author.AGENT, ChatKind.MESSAGE),
    ]
    (process,) = keeping.desk.list("habakkuk")
    assert rows[2].body.startswith(
        f"Background process {process.id} (sleep 0.5; exit 4) exited with code 4 after "
    )
    assert rows[3].body.startswith(f"echo: Background process {process.id} ")


def test_its_answer_goes_where_the_first_one_went(keeping: Keeping) -> None:
    stack = keeping.stack
    target = Target("shop", "chat-7", "thread-1", "message-9")
    admitted = _ask(stack, "true", target=target, attended=True)
    stack.start()
    stack.ended(admitted)
    until(lambda: _turns(stack))
    ((_, reply_to),) = stack.container.database.run(_TURNS)
    assert Target(**reply_to["target"]) == target
    assert reply_to["attended"] is True


def test_without_notify_and_after_a_kill_nothing_is_said(keeping: Keeping) -> None:
    stack = keeping.stack
    stack.start()
    admitted = _ask(stack, "sleep 600")
    stack.ended(admitted)
    (process,) = keeping.desk.list("habakkuk")
    keeping.call("process_kill", id=process.id)
    quiet = keeping.run("true")
    keeping.ended(quiet)
    last = _ask(stack, "true")
    stack.ended(last)
    until(lambda: _turns(stack))
    assert len(_turns(stack)) == 1


def test_with_its_conversation_gone_there_is_nobody_to_tell(keeping: Keeping) -> None:
    stack = keeping.stack
    stack.start()
    admitted = _ask(stack, "sleep 600")
    stack.ended(admitted)
    (process,) = keeping.desk.list("habakkuk")
    database = stack.container.database
    database.run(text("DELETE FROM conversations WHERE id = :id"), id=admitted.conversation_id)
    keeping.call("process_write", id=process.id, stdin="", eof=True)
    database.run(
        text(
            "UPDATE processes SET kill_asked = NULL, state = 'exited', finished = now()"
            " WHERE id = :id"
        ),
        id=process.id,
    )
    until(lambda: database.run(text("SELECT 1 FROM processes WHERE notified IS NOT NULL")))
    assert _turns(stack) == []


def test_an_end_is_told_in_the_session_that_started_it_after_new(keeping: Keeping) -> None:
    stack = keeping.stack
    stack.start()
    admitted = _ask(stack, "read x")
    stack.ended(admitted)
    stack.say("/new")
    later = stack.say("hello")
    assert later.session_id != admitted.session_id
    (process,) = keeping.desk.list("habakkuk")
    keeping.call("process_write", id=process.id, stdin="\n")
    until(lambda: _turns(stack))
    (turn,) = _turns(stack)
    assert stack.ended(replace(admitted, turn_id=turn)).session_id == admitted.session_id


def test_an_end_that_cannot_be_told_starves_no_other(
    keeping: Keeping, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "_AT_ONCE", 1)
    door = keeper._notices._door

    def admit(inbound: Inbound) -> object:
        if "exit 1" in inbound.text:
            raise RuntimeError("this one never can be told")
        return door.admit(inbound)

    keeper._notices._door = replace(door, admit=admit)
    stack = keeping.stack
    stack.start()
    for command in ("exit 1", "exit 2"):
        stack.ended(_ask(stack, command))
    until(lambda: _turns(stack))
    database = stack.container.database
    untold = text("SELECT command FROM processes WHERE notified IS NULL")
    # The turn is there a moment before its process is marked as told of.
    until(lambda: [row.command for row in database.run(untold)] == ["exit 1"])


def test_ends_that_follow_each_other_are_shown_and_start_no_more_turns(
    keeping: Keeping, keeper: Keeper
) -> None:
    keeper._notices._door = replace(keeper._notices._door, most=1)
    stack = keeping.stack
    stack.start()
    admitted = stack.say("hello", target=Target("shop", "chat-7"))
    stack.ended(admitted)
    keeping.turn, keeping.session = admitted.turn_id or "", admitted.session_id

    def told(command: str) -> list[ChatKind]:
        """Let a process end; return what the conversation has then of that."""

        def found() -> list[ChatKind]:
            rows = [row for row in stack.rows(admitted) if f"({command})" in row.body]
            return [row.kind for row in rows if row.author is Author.SYSTEM]

        keeping.run(command, notify=True)
        until(found)
        return found()

    assert told("exit 1") == [ChatKind.EVENT]
    assert told("exit 2") == [ChatKind.NOTICE]
    assert len(_turns(stack)) == 1
    said = stack.rows(admitted)[-1].body
    assert said.startswith("Background process p_")
    assert said.endswith("Write to it to go on.")
    # It goes where answers go.
    going = text("SELECT body ->> 'text' AS told FROM deliveries WHERE body ->> 'kind' = 'notice'")
    assert [row.told for row in stack.container.database.run(going)] == [said]
    stack.ended(stack.say("go on"))
    assert told("exit 3") == [ChatKind.EVENT]
    until(lambda: len(_turns(stack)) == 2)
