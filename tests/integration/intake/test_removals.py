"""Messages that are deleted at their platform: before, while and after they are answered (K85)."""

from __future__ import annotations

import pytest

from habakkuk.channels.messages import Removal
from habakkuk.gateway.intake import Fate, Received
from habakkuk.gateway.types import Cursor
from tests.fakes.stack import until
from tests.integration.intake.conftest import Room, Rooms


@pytest.fixture
def room(rooms: Rooms) -> Room:
    return rooms()


def _remove(room: Room, of: Received, sender: str = "alice") -> Fate:
    return room.take(Removal(of.id, "room", sender)).fate


@pytest.mark.parametrize("sender", ["alice", ""])
def test_before_its_turn_begins_it_is_withdrawn(room: Room, sender: str) -> None:
    received = room.say("first")
    assert _remove(room, received, sender) is Fate.ACCEPTED
    assert _remove(room, received, sender) is Fate.DUPLICATE
    room.stack.start()
    until(lambda: room.stack.turn(received.turn_id).ended is not None)
    room.heard(room.say("second"))
    assert room.told(1) == ["echo: second"]
    assert [row.state for row in room.rows("chat_messages") if row.body == "first"] == ["withdrawn"]


def test_who_sent_too_much_may_take_it_back(rooms: Rooms) -> None:
    room = rooms("messages_per_minute: 1")
    received = room.say("wrong")
    room.say("far too much")
    assert room.take(Removal(received.id, "room", "alice")).fate is Fate.ACCEPTED
    assert [row.state for row in room.rows("chat_messages")] == ["withdrawn"]


def test_after_the_answer_it_is_noted_and_nothing_changes(room: Room) -> None:
    room.stack.start()
    received = room.say("first")
    room.heard(received)
    fates = [_remove(room, received) for _ in range(2)]
    assert fates == [Fate.ACCEPTED, Fate.DUPLICATE]
    (row,) = (row for row in room.rows("chat_messages") if row.body == "first")
    assert (row.state, row.data["removed"]) == ("taken", True)
    assert room.told(1) == ["echo: first"]
    assert len(room.rows("turns")) == 1


def test_while_its_turn_runs_it_goes_on(room: Room) -> None:
    room.stack.start()
    received = room.say('[[tool look {"seconds": 1}]] work')
    until(lambda: room.rows("tool_calls"))
    assert _remove(room, received) is Fate.ACCEPTED
    assert room.told(1) == ["results: all is well"]


def test_only_who_wrote_it_takes_it_back(room: Room) -> None:
    received = room.say("first")
    for sender in ("bob", "carol"):
        assert _remove(room, received, sender) is Fate.IGNORED
    assert [row.state for row in room.rows("chat_messages")] == ["queued"]


def test_what_is_not_here_is_passed_over(room: Room) -> None:
    removal = Removal("m99", "room", "")
    assert room.take(removal, Cursor("offset", {"next": 7})).fate is Fate.IGNORED
    (row,) = room.rows("channel_state")
    assert row.value == {"next": 7}
