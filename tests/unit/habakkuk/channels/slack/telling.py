"""What Slack tells, from its own examples, and a reader of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from habakkuk.channels.messages import (
    Event,
    InboundMessage,
)
from habakkuk.channels.slack import wire

PAYLOADS = Path(__file__).parents[4] / "payloads" / "slack"
TEAM, BOT, MARY = "T061EG9R6", "U0LAN0Z89", "U061F7AUR"
TS = "1515449522.000016"
IN_CHANNEL = f"{TEAM}:C0LAN2Q65:{TS}"
SPOKEN_IN = "1515449300.000001"

SLASH = {
    "command": "/queue",
    "text": "look at <https://e.example> &amp; go",
    "user_id": MARY,
    "user_name": "mary",
    "channel_id": "D0PNCRP9N",
    "channel_name": "directmessage",
    "team_id": TEAM,
    "trigger_id": "13345224609.738474920.8088930838d88f008e0",
    "response_url": "https://hooks.slack.com/commands/1234/5678",
}


class Known:
    """A bot that has written in one thread."""

    def bot(self) -> str:
        return BOT

    def name(self, user: str) -> str:
        return {MARY: "Mary", BOT: "Habakkuk"}.get(user, "")

    def speaks_in(self, channel: str, thread: str) -> bool:
        return (channel, thread) == ("C0LAN2Q65", SPOKEN_IN)

    def called_in(self, channel: str, thread: str) -> None:
        """Need no note."""

    def written(self, own: str) -> str:
        return f"{self.team}/{own}" if self.team else own

    def __init__(self, team: str = "") -> None:
        self.team = team


READER = wire.Reader(lambda _team: Known())


def payload_of(name: str) -> Any:
    return json.loads((PAYLOADS / f"{name}.json").read_text())


def events_of(name: str) -> Sequence[Event]:
    return READER.events(payload_of(name))


def message_of(name: str) -> InboundMessage:
    (event,) = events_of(name)
    assert isinstance(event, InboundMessage)
    return event


def written_in(text: str, **more: Any) -> InboundMessage:
    payload = payload_of("im_text")
    payload["event"] |= {"text": text, **more}
    (event,) = READER.events(payload)
    assert isinstance(event, InboundMessage)
    return event
