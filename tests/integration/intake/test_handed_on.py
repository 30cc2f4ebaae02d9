"""Commands that hand words to the agent: to whom, as whose, and as which turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
