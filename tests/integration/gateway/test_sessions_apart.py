"""Commands that go on in a copy of the session, beside it, or once more."""

from __future__ import annotations

from typing import Any

import pytest

from habakkuk.llm.types import Role
from tests.fakes.stack import Stack, until


@pytest.fixture
def talk(stack: Stack) -> Stack:
    """A stack whose workers run, and a session with two answered messages."""
    stack.start()
    for said in ("first", "second"):
        stack.ended(stack.say(said))
    return stack


def _here(stack: Stack) -> str:
    """Return the conversation's current session."""
    return stack.say("/whoami").session_id


def _said(stack: Stack, session: str) -> list[str]:
    """Return what users said in a session, without the notes before it."""
    stored = stack.container.conversations.transcript(stack.principal, session)
    users = [item.message for item in stored if item.message.role is Role.USER]
    return [message.text.splitlines()[-1] for message in users]


def test_a_fork_goes_on_and_the_original_stays(talk: Stack) -> None:
    before = _here(talk)
    reply = talk.say("/fork").reply
    assert reply is not None
    assert before in reply
    asked = talk.say("third")
    talk.ended(asked)
    assert asked.session_id != before
    assert _said(talk, asked.session_id) == ["first", "second", "third"]
    assert _said(talk, before) == ["first", "second"]


@pytest.mark.parametrize(("command", "left"), [("/rewind", ["first"]), ("/rewind 1", ["first"])])
def test_a_rewind_takes_the_latest_away(talk: Stack, command: str, left: list[str]) -> None:
    before = _here(talk)
    talk.say(command)
    asked = talk.say("other")
    talk.ended(asked)
    assert _said(talk, asked.session_id) == [*left, "other"]
    assert _said(talk, before) == ["first", "second"]


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("/rewind 3", "not so many"),
        ("/rewind 2", "/new"),
        ("/rewind 0", "how many"),
        ("/rewind ²", "how many"),
        ("/rewind -1", "how many"),
    ],
)
def test_a_rewind_that_cannot_be_changes_nothing(talk: Stack, command: str, reply: str) -> None:
    before = _here(talk)
    said = talk.say(command).reply
    assert said is not None
    assert reply in said
    assert _here(talk) == before


def test_what_is_asked_beside_leaves_no_trace(talk: Stack) -> None:
    before = _here(talk)
    aside = talk.say("/btw third")
    talk.ended(aside)
    assert aside.session_id != before
    assert _said(talk, aside.session_id) == ["first", "second", "third"]
    assert _said(talk, before) == ["first", "second"]
    assert _here(talk) == before


def test_it_is_answered_while_the_main_turn_runs(talk: Stack) -> None:
    slow = talk.say("[[stall]] slow")
    aside = talk.say("/btw third")
    talk.ended(aside)
    assert talk.turn(slow.turn_id).ended is None
    talk.say("/stop")


def test_a_retry_asks_the_last_message_again(talk: Stack) -> None:
    again = talk.say("/retry")
    talk.ended(again)
    assert _said(talk, again.session_id) == ["first", "second", "second"]


def test_a_retry_waits_for_nobody(talk: Stack) -> None:
    slow = talk.say("[[stall]] slow")
    until(lambda: talk.turn(slow.turn_id).began is not None)
    assert "/stop" in str(talk.say("/retry").reply)
    talk.say("/stop")


def test_a_queued_message_comes_after_what_runs(talk: Stack) -> None:
    queued = talk.say("/queue third")
    talk.ended(queued)
    assert _said(talk, queued.session_id) == ["first", "second", "third"]


@pytest.mark.parametrize("command", ["/btw", "/queue"])
def test_without_words_it_says_what_is_missing(stack: Stack, command: str) -> None:
    admitted = stack.say(command)
    assert admitted.turn_id is None
    assert str(admitted.reply).startswith("Write ")


def test_an_empty_session_has_nothing_to_copy(stack: Stack) -> None:
    assert "nothing to copy" in str(stack.say("/fork").reply)
    assert "no message" in str(stack.say("/retry").reply)


def _words(reply: Any) -> str:
    return str(reply)


def test_a_title_is_shown_set_and_kept(talk: Stack) -> None:
    assert _words(talk.say("/title").reply).endswith("first")
    assert _words(talk.say("/title  My  plan ").reply).endswith("My plan")
    assert _words(talk.say("/title").reply).endswith("My plan")
    assert "200" in _words(talk.say(f"/title {'x' * 300}").reply)


def test_help_names_every_command_that_one_may_use(stack: Stack) -> None:
    lines = _words(stack.say("/help").reply).splitlines()
    assert any(line.startswith("/stop:") for line in lines)
    assert all(": " in line for line in lines)
    assert _words(stack.say("/help effort").reply).startswith("/effort or /think")


@pytest.mark.parametrize(("typed", "meant"), [("/sttop", "/stop"), ("/hepl", "/help")])
def test_a_mistyped_command_is_told_and_not_sent(stack: Stack, typed: str, meant: str) -> None:
    admitted = stack.say(typed)
    assert admitted.turn_id is None
    assert meant in str(admitted.reply)


def test_who_and_who_answers(stack: Stack) -> None:
    assert "owner" in _words(stack.say("/whoami").reply)
    assert "habakkuk (answers here)" in _words(stack.say("/agents").reply)
