"""Commands that hand words to the agent: to whom, as whose, and as which turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from habakkuk.channels.messages import Removal, Source
from habakkuk.channels.webhook.adapter import WebhookAdapter
from tests.integration.intake.conftest import Rooms


@pytest.mark.parametrize("said", ["/queue two", "/steer two", "/retry", "/btw two"])
def test_they_reach_the_agent_that_was_chosen_here(rooms: Rooms, said: str) -> None:
    """The account names another one, which answers where nobody chose."""
    room = rooms("agent: reader")
    room.stack.start()
    room.heard(room.say("two"))
    room.say("/agent habakkuk")
    received = room.say(said)
    assert room.heard(received).endswith("two")
    assert room.stack.turn(received.turn_id).agent == "habakkuk"


@pytest.mark.parametrize("said", ["/queue one", "/retry", "/btw one"])
def test_they_are_turns_of_their_own(
    rooms: Rooms, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """Nothing that is written after them joins them, so they wait for nothing either."""
    facts = replace(WebhookAdapter.manifest, bursts=True)
    monkeypatch.setattr(WebhookAdapter, "manifest", facts)
    room = rooms()
    room.stack.start()
    room.heard(room.say("one"))
    room.stack.stop()
    own = room.say(said)
    assert room.say("two").turn_id != own.turn_id
    (job,) = (row for row in room.rows("jobs") if row.id == own.turn_id)
    assert job.run_at <= job.created


def test_in_a_group_each_asks_their_own_message_again(rooms: Rooms) -> None:
    """What others and programs wrote is not said in the sender's name, with their rights."""
    room = rooms()
    room.stack.start()
    room.heard(room.say("mine", group=True))
    room.heard(room.say("theirs", "bob", group=True))
    room.heard(room.say("beep", "robot", source=Source.BOT, group=True))
    assert room.heard(room.say("/retry", group=True)).endswith("[alice]\nmine")


def test_what_its_writer_deleted_is_not_asked_again(rooms: Rooms) -> None:
    room = rooms()
    room.stack.start()
    room.heard(room.say("first"))
    second = room.say("second")
    room.heard(second)
    room.take(Removal(second.id, "room", "alice"))
    assert room.heard(room.say("/retry")).endswith("first")


def test_what_could_not_be_seen_is_named_when_it_is_asked_again(rooms: Rooms) -> None:
    """A file without a word that could not be had would be an empty message."""
    room = rooms()
    room.stack.start()
    room.heard(room.say("look", unread=("a voice message",)))
    room.run("UPDATE chat_messages SET body = '' WHERE author = 'user'")
    again = room.say("/retry")
    assert room.heard(again).endswith(
        "[With this came a voice message, which you cannot see. Say so where it matters.]\n"
    )


@pytest.mark.parametrize("said", ["/queue look", "/steer look", "/btw look"])
def test_what_came_with_a_command_and_cannot_be_seen_is_named(rooms: Rooms, said: str) -> None:
    """As it is of a message: who sends it would think that the agent has seen it."""
    room = rooms()
    room.stack.start()
    assert "[With this came a sticker, which" in room.heard(room.say(said, unread=("a sticker",)))


def test_what_is_asked_beside_is_answered_by_the_next_message(rooms: Rooms) -> None:
    room = rooms()
    room.stack.start()
    room.heard(room.say("first"))
    asks = '[[tool clarify {"questions": [{"question": "Which one?"}]}]]'
    aside = room.say(f"/btw {asks}")
    room.told(2)
    room.stack.read_questions()
    assert room.say("the red one").turn_id == aside.turn_id
    assert "The user answered: the red one" in room.told(3)[-1]
    assert room.say("go on").turn_id != aside.turn_id
