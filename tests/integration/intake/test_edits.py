"""Messages that are changed at their platform: before, while and after they are answered (K85)."""

from __future__ import annotations

import pytest

from habakkuk.accounts.types import Role
from habakkuk.channels.messages import Edit
from habakkuk.gateway.intake import Fate, Received
from habakkuk.gateway.types import Cursor
from tests.fakes.stack import until
from tests.integration.intake.conftest import Room, Rooms

_WORK = '[[tool look {"seconds": 1}]] [[next]] [[tool look {}]] work'


@pytest.fixture
def room(rooms: Rooms) -> Room:
    return rooms()


def _begun(room: Room, received: Received) -> None:
    until(lambda: room.rows("tool_calls"))
    assert room.stack.turn(received.turn_id).ended is None


def test_before_its_turn_begins_the_text_is_replaced(room: Room) -> None:
    received = room.say("first")
    assert room.edit(received, "better").fate is Fate.ACCEPTED
    assert room.edit(received, "better").fate is Fate.DUPLICATE
    room.stack.start()
    assert room.heard(received).endswith("better")
    assert room.told(1) == ["echo: better"]


def test_while_its_turn_runs_it_is_guidance_once(room: Room) -> None:
    room.stack.start()
    received = room.say(_WORK)
    _begun(room, received)
    fates = [room.edit(received, "look to the left").fate for _ in range(2)]
    assert fates == [Fate.ACCEPTED, Fate.DUPLICATE]
    assert "The message was corrected: look to the left" in room.heard(received)
    (guidance,) = (row for row in room.rows("chat_messages") if row.kind == "steer")
    assert (guidance.turn_id, guidance.state) == (received.turn_id, "taken")


def test_each_of_two_turns_reads_what_was_changed_for_it(room: Room) -> None:
    """One that /new left behind does not end past its own for what came for the other."""
    room.stack.start()
    first = room.say("one [[wait 3]]")
    until(lambda: len(room.stack.model.requests) == 1)
    room.say("/new")
    second = room.say("two [[wait 3]]")
    until(lambda: len(room.stack.model.requests) == 2)
    room.edit(first, "uno")
    room.edit(second, "due")
    room.heard(first)
    room.heard(second)
    until(lambda: all(turn.ended is not None for turn in room.rows("turns")))
    guidance = [row for row in room.rows("chat_messages") if row.kind == "steer"]
    assert [row.state for row in guidance] == ["taken"] * 2
    assert len(room.rows("turns")) == 4
    assert [row.steered for row in room.rows("conversations")] == [None]


def test_after_the_answer_nothing_runs_and_the_next_turn_knows(room: Room) -> None:
    room.stack.start()
    first = room.say("first")
    room.heard(first)
    for said in ("better", "best"):
        assert room.edit(first, said).fate is Fate.ACCEPTED
    assert room.edit(first, "best").fate is Fate.DUPLICATE
    assert len(room.rows("turns")) == 1
    second = room.heard(room.say("second"))
    assert "It now reads:]\nbest\n" in second
    assert "better" not in second
    assert second.endswith("second")
    assert "best" not in room.heard(room.say("third"))
    (stored,) = (row for row in room.rows("chat_messages") if row.body == "first")
    assert stored.data["corrected"] == "best"


def test_what_is_asked_again_is_asked_as_it_reads_now(room: Room) -> None:
    room.stack.start()
    first = room.say("first")
    room.heard(first)
    room.edit(first, "better")
    assert room.heard(room.say("/retry")).endswith("better")


def test_a_new_session_knows_nothing_of_it(room: Room) -> None:
    room.stack.start()
    first = room.say("first")
    room.heard(first)
    room.edit(first, "better")
    room.say("/new")
    assert "better" not in room.heard(room.say("second"))


def test_a_copy_of_the_session_knows_it(room: Room) -> None:
    room.stack.start()
    first = room.say("first")
    room.heard(first)
    room.edit(first, "better")
    room.say("/fork")
    assert "It now reads:]\nbetter\n" in room.heard(room.say("second"))


def test_a_copy_of_a_copy_knows_it_too(room: Room) -> None:
    room.stack.start()
    first = room.say("first")
    room.heard(first)
    room.edit(first, "better")
    room.say("/fork")
    room.say("/fork")
    assert "It now reads:]\nbetter\n" in room.heard(room.say("second"))


def test_a_copy_without_the_message_knows_nothing_of_it(room: Room) -> None:
    room.stack.start()
    room.heard(room.say("first"))
    second = room.say("second")
    room.heard(second)
    room.edit(second, "better")
    room.say("/rewind")
    assert "better" not in room.heard(room.say("third"))


def test_only_who_wrote_it_changes_it(room: Room) -> None:
    received = room.say("first")
    for sender in ("bob", "carol"):
        assert room.edit(received, "mine", sender).fate is Fate.IGNORED
    assert [row.body for row in room.rows("chat_messages")] == ["first"]


def test_who_may_only_read_by_now_changes_nothing(room: Room) -> None:
    received = room.say("first")
    accounts = room.stack.container.accounts
    writer = accounts.known("webhook", "chat", "alice")
    assert writer is not None
    accounts.set_role(writer.name, Role.VIEWER)
    assert room.edit(received, "mine").fate is Fate.IGNORED
    assert [row.body for row in room.rows("chat_messages")] == ["first"]


@pytest.mark.parametrize("said", ["", " \n"])
def test_an_edit_to_nothing_changes_nothing(room: Room, said: str) -> None:
    received = room.say("first")
    assert room.edit(received, said).fate is Fate.IGNORED
    assert [row.body for row in room.rows("chat_messages")] == ["first"]


def test_what_is_not_here_cannot_be_changed(room: Room) -> None:
    edit = Edit("m99", "room", "alice", "better")
    assert room.take(edit, Cursor("offset", {"next": 7})).fate is Fate.IGNORED
    assert len(room.rows("channel_state")) == 1
    command = room.say("/status")
    assert room.edit(command, "/stop").fate is Fate.IGNORED


def test_an_edit_moves_the_intake_on(room: Room) -> None:
    received = room.say("first")
    room.take(Edit(received.id, "room", "alice", "better"), Cursor("offset", {"next": 8}))
    (row,) = room.rows("channel_state")
    assert row.value == {"next": 8}
