"""Words of strangers taint the turn that reads them, whatever way they come in."""

from __future__ import annotations

import pytest

from habakkuk.gateway.intake import Received
from tests.fakes.stack import until
from tests.integration.intake.conftest import Room, Rooms

_WORK = '[[tool look {"seconds": 1}]] [[next]] [[tool look {}]] work'
_ASKS = '[[tool clarify {"questions": [{"question": "Which one?"}]}]]'


@pytest.fixture
def room(rooms: Rooms) -> Room:
    return rooms()


def _is_tainted(room: Room, received: Received) -> bool:
    (turn,) = (row for row in room.rows("turns") if row.id == received.turn_id)
    return bool(turn.tainted)


@pytest.mark.parametrize("outside", [True, False])
def test_behind_a_command_that_hands_them_on(room: Room, outside: bool) -> None:
    """A mail may begin with a command; what it quotes are others' words all the same."""
    room.stack.start()
    received = room.say("/queue buy now", outside=outside)
    room.heard(received)
    assert _is_tainted(room, received) is outside


@pytest.mark.parametrize("outside", [True, False])
def test_as_guidance_of_a_turn_that_runs(room: Room, outside: bool) -> None:
    room.stack.start()
    received = room.say(_WORK)
    until(lambda: room.rows("tool_calls"))
    room.say("/steer buy now", outside=outside)
    assert "buy now" in room.heard(received)
    assert _is_tainted(room, received) is outside


@pytest.mark.parametrize("outside", [True, False])
def test_as_guidance_that_becomes_a_turn_of_its_own(room: Room, outside: bool) -> None:
    room.stack.start()
    received = room.say("one [[wait 2]]")
    until(lambda: room.stack.model.requests)
    room.say("/steer buy now", outside=outside)
    room.heard(received)
    until(lambda: all(turn.ended is not None for turn in room.rows("turns")))
    assert [turn.tainted for turn in room.rows("turns")] == [outside] * 2


@pytest.mark.parametrize("outside", [True, False])
def test_as_what_was_changed_after_the_answer(room: Room, outside: bool) -> None:
    room.stack.start()
    first = room.say("forwarded: buy", outside=outside)
    room.heard(first)
    room.edit(first, "forwarded: buy now")
    second = room.say("go on")
    assert "buy now" in room.heard(second)
    assert _is_tainted(room, second) is outside


@pytest.mark.parametrize("outside", [True, False])
def test_as_the_answer_to_a_question(room: Room, outside: bool) -> None:
    room.stack.start()
    received = room.say(_ASKS)
    room.told(1)
    room.stack.read_questions()
    answered = room.say("that of the forwarded message", outside=outside)
    assert answered.turn_id == received.turn_id
    room.heard(received)
    assert _is_tainted(room, received) is outside


@pytest.mark.parametrize("outside", [True, False])
def test_as_an_answer_that_is_said_again(room: Room, outside: bool) -> None:
    room.stack.start()
    received = room.say(_ASKS)
    room.told(1)
    room.stack.read_questions()
    room.say("that of the forwarded message", outside=outside)
    room.heard(received)
    again = room.say("/retry")
    assert room.heard(again).endswith("forwarded message")
    assert _is_tainted(room, again) is outside
