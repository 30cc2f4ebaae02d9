"""Commands that hand words to the agent: to whom, as whose, and as which turn."""

from __future__ import annotations

import pytest

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
