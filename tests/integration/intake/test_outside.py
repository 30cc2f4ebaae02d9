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
def test_as_the_answer_to_a_question(room: Room, outside: bool) -> None:
    room.stack.start()
    received = room.say(_ASKS)
    room.told(1)
    room.stack.read_questions()
    answered = room.say("that of the forwarded message", outside=outside)
    assert answered.turn_id == received.turn_id
    room.heard(received)
    assert _is_tainted(room, received) is outside
