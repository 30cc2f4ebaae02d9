"""What Slack sends to an address, and what is pressed or called there (cases: K11, K60)."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.messages import (
    InboundMessage,
    Press,
)
from habakkuk.channels.slack import bodies
from tests.unit.habakkuk.channels.slack.telling import (
    MARY,
    PAYLOADS,
    READER,
    SLASH,
    TEAM,
    events_of,
    payload_of,
)


def test_a_press_names_its_message_and_its_own_moment() -> None:
    message = f"{TEAM}:C0LAN2Q65:1548261231.000200"
    assert events_of("block_actions") == [
        Press(
            id=f"{message}:1548426417.840180:{MARY}",
            chat="C0LAN2Q65",
            sender=MARY,
            data="hb|abc|0",
            message=message,
            thread="1548261000.000100",
            sender_name="mary",
        )
    ]


def test_a_press_of_something_else_is_passed_over() -> None:
    payload = payload_of("block_actions")
    payload["actions"][0] |= {"type": "static_select", "value": None}
    assert list(READER.events(payload)) == []


def test_a_slash_command_is_what_it_says() -> None:
    (message,) = READER.events(bodies.decoded(urlencode(SLASH).encode()))
    assert message == InboundMessage(
        id=f"{TEAM}:D0PNCRP9N:command-{SLASH['trigger_id']}",
        chat="D0PNCRP9N",
        sender=MARY,
        text="/queue look at https://e.example & go",
        sender_name="mary",
    )


@pytest.mark.parametrize("name", [path.stem for path in sorted(PAYLOADS.glob("*.json"))])
def test_what_a_request_brings_reads_as_what_the_line_brings(name: str) -> None:
    raw = (PAYLOADS / f"{name}.json").read_bytes()
    assert READER.events(bodies.decoded(raw)) == events_of(name)


def test_what_is_pressed_comes_in_a_form() -> None:
    body = urlencode({"payload": json.dumps(payload_of("block_actions"))}).encode()
    assert READER.events(bodies.decoded(body)) == events_of("block_actions")


@pytest.mark.parametrize(
    "body",
    [
        b"payload=",
        b"payload=[]",
        b"payload=%7B",
        b"&".join(b"a=1" for _ in range(200)),
        b"command=stop&trigger_id=1&user_id=U1&channel_id=D1",
        b'{"type": "event_callback", "event": "x"}',
        b'{"type": "event_callback", "event": {"type": "message", "ts": 5}, "team_id": "T"}',
        b'{"type": "block_actions"}',
    ],
)
def test_what_makes_no_sense_is_unreadable(body: bytes) -> None:
    with pytest.raises(WebhookUnreadable):
        READER.events(bodies.decoded(body))
