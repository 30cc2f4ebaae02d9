"""A stack with an account of a channel for people: strangers are told codes, buttons are shown."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from habakkuk.channels.contract import Feature
from habakkuk.channels.messages import (
    Button,
    Edit,
    Event,
    InboundMessage,
    OutboundMessage,
    Press,
    Receipt,
)
from habakkuk.channels.webhook.adapter import WebhookAdapter
from habakkuk.delivery import progress
from habakkuk.gateway.intake import Received
from habakkuk.gateway.types import Cursor
from tests.fakes.model_server import ModelServer
from tests.fakes.platform import Platform
from tests.fakes.stack import Stack, until
from tests.integration.intake.wall import Wall

SECRET = "whsec_" + base64.b64encode(b"the secret of the fake platform.").decode()
_ACCOUNT = """
channels:
  chat:
    {{type: webhook, secret_env: SECRET, url: "{url}", allow_from: [{allow}], {options}}}
{more}
"""


class Room:
    """A chat on the account `chat`, with what is shown there."""

    def __init__(self, stack: Stack, platform: Platform) -> None:
        self.stack = stack
        self.platform = platform
        self.sent: list[OutboundMessage] = []
        self.settled: list[tuple[Press, str]] = []
        self.declined: list[tuple[Press, str]] = []
        self._number = 0

    def say(self, said: str, sender: str = "alice", **fields: Any) -> Received:
        """Bring a message of somebody in, as the channel would."""
        return self.take(self.message(said, sender, **fields))

    def message(self, said: str, sender: str = "alice", **fields: Any) -> InboundMessage:
        """Return such a message."""
        self._number += 1
        known = {"id": f"m{self._number}", "chat": "room", "sender": sender, "text": said}
        return InboundMessage(**known | fields)

    def take(self, event: Event, cursor: Cursor | None = None) -> Received:
        """Bring in anything that happened."""
        line = self.stack.container.channels.line("chat")
        assert line is not None
        return self.stack.container.intake.take(line, event, cursor)

    def edit(self, of: Received, said: str, sender: str = "alice") -> Received:
        """Change a message."""
        return self.take(Edit(of.id, "room", sender, said))

    def press(self, button: Button, sender: str = "alice", press: str = "p1") -> Received:
        """Press a button."""
        return self.take(Press(press, "room", sender, button.data, "shown"))

    def buttons(self) -> dict[str, Button]:
        """Wait for buttons and return the latest by their labels."""
        until(lambda: any(message.buttons for message in self.sent))
        (*_, last) = (message for message in self.sent if message.buttons)
        return {button.label: button for button in last.buttons}

    def texts(self) -> list[str]:
        """Return what people of the platform see."""
        return [shown.text for shown in self.platform.shown]

    def told(self, count: int) -> list[str]:
        """Wait until so many messages are shown and return their texts."""
        until(lambda: len(self.texts()) >= count)
        return self.texts()

    def rows(self, table: str) -> list[Any]:
        """Return the rows of a table."""
        return list(self.stack.container.database.run(text(f"SELECT * FROM {table}")))

    def run(self, statement: str) -> None:
        """Change what is stored, as time would."""
        self.stack.container.database.run(text(statement))

    def heard(self, received: Received) -> str:
        """Wait for a turn's end and return the last message of a person that its model read."""
        container, principal = self.stack.container, self.stack.principal
        until(lambda: self.stack.turn(received.turn_id).ended is not None)
        session = self.stack.turn(received.turn_id).session_id
        stored = container.conversations.transcript(principal, session)
        (*_, last) = (one for one in stored if one.message.role == "user")
        return last.message.text


Rooms = Callable[..., Room]


@pytest.fixture
def rooms(
    tmp_path: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rooms]:
    """Make a room; `options` are more settings of its account, `more` lines of config.yaml."""
    monkeypatch.setenv("SECRET", SECRET)
    facts = replace(WebhookAdapter.manifest, pairs=True, features=frozenset({Feature.BUTTONS}))
    monkeypatch.setattr(WebhookAdapter, "manifest", facts)
    opened: list[Any] = []

    def make(options: str = "", more: str = "", allow: str = "alice, bob, robot") -> Room:
        platform = Platform(SECRET).__enter__()
        opened.append(platform)
        account = _ACCOUNT.format(url=platform.url, options=options, more=more, allow=allow)
        stack = Stack(tmp_path, database_url, redis_url, model, account)
        opened.append(stack)
        room = Room(stack, platform)
        _watch(room, monkeypatch)
        return room

    with ModelServer() as model:
        yield make
        for one in reversed(opened):
            if isinstance(one, Stack):
                one.close()
            else:
                one.__exit__()
                assert one.faults == []


def _watch(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Note what the adapter is asked to do that this channel has no wire for."""
    send = WebhookAdapter.send

    def sent(adapter: WebhookAdapter, message: OutboundMessage) -> Receipt:
        room.sent.append(message)
        return send(adapter, message)

    def settle(_: WebhookAdapter, press: Press, said: str) -> None:
        room.settled.append((press, said))

    def decline(_: WebhookAdapter, press: Press, said: str) -> None:
        room.declined.append((press, said))

    monkeypatch.setattr(WebhookAdapter, "send", sent)
    monkeypatch.setattr(WebhookAdapter, "settle", settle)
    monkeypatch.setattr(WebhookAdapter, "decline", decline)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    monkeypatch.setattr(progress, "_DRAFT_SECONDS", 0.2)
    monkeypatch.setattr(progress, "_EDIT_SECONDS", 0.1)
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.02)
    made = Wall()
    for name in ("draft", "redraft", "undraft", "react"):
        monkeypatch.setattr(WebhookAdapter, name, getattr(made, name))
    return made


@pytest.fixture
def can(monkeypatch: pytest.MonkeyPatch) -> Callable[[Feature], None]:
    def make(feature: Feature) -> None:
        facts = WebhookAdapter.manifest
        made = replace(facts, features=facts.features | {feature})
        monkeypatch.setattr(WebhookAdapter, "manifest", made)

    return make


@pytest.fixture
def chatting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the platform be one where people chat."""

    def make() -> None:
        made = replace(WebhookAdapter.manifest, bursts=True)
        monkeypatch.setattr(WebhookAdapter, "manifest", made)

    return make
