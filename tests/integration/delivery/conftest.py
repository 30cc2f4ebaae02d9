"""A stack whose webhook accounts talk to a fake platform."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from standardwebhooks.webhooks import Webhook

from habakkuk.channels.messages import RawRequest
from habakkuk.gateway.intake import Received
from tests.fakes.model_server import ModelServer
from tests.fakes.platform import Mode, Platform
from tests.fakes.stack import Stack, until

SECRET = "whsec_" + base64.b64encode(b"the secret of the fake platform.").decode()
_ACCOUNTS = """
channels:
  phone:
    type: webhook
    secret_env: PHONE_SECRET
    url: "{url}"
    receiver: {receiver}
    unknown: {unknown}
    max_characters: {limit}
    agent: {agent}
    allow_from: [alice, bob]
  silent: {{type: webhook, secret_env: PHONE_SECRET, agent: careful, allow_from: ["*"]}}
  closed: {{type: webhook, secret_env: NO_SECRET, allow_from: ["*"]}}
"""


class Phone:
    """A person's client of the webhook channel."""

    def __init__(self, stack: Stack, platform: Platform) -> None:
        self.stack = stack
        self.platform = platform
        self._sent = 0

    def say(self, said: str, sender: str = "alice", **fields: Any) -> Received:
        """Send one message and return what became of it."""
        account = fields.pop("account", "phone")
        (received,), _ = self.stack.container.intake.receive(
            account, self.request(said, sender, **fields)
        )
        return received

    def request(self, said: str, sender: str = "alice", **fields: Any) -> RawRequest:
        """Return a signed request, made by the foreign program."""
        self._sent += 1
        message_id = fields.pop("id", f"m{self._sent}")
        body = json.dumps({"chat": "room", "sender": {"id": sender}, "text": said} | fields)
        now = datetime.now(UTC)
        headers = {
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(SECRET).sign(message_id, now, body),
        }
        return RawRequest("POST", headers, body.encode())

    def texts(self) -> list[str]:
        """Return what the people of the platform see."""
        return [shown.text for shown in self.platform.shown]

    def delivery(self, state: str) -> Any:
        """Wait until the only delivery is in this state and return its row."""
        until(lambda: [row.state for row in self.rows("deliveries")] == [state])
        return self.rows("deliveries")[0]

    def rows(self, table: str) -> list[Any]:
        return list(self.stack.container.database.run(text(f"SELECT * FROM {table}")))


Phones = Callable[..., Phone]


@pytest.fixture
def phones(
    tmp_path: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Phones]:
    monkeypatch.setenv("PHONE_SECRET", SECRET)
    opened: list[Any] = []

    def make(
        receiver: Mode = "plain",
        unknown: str = "resend",
        agent: str = "habakkuk",
        limit: int = 4000,
    ) -> Phone:
        platform = Platform(SECRET, receiver).__enter__()
        opened.append(platform)
        accounts = _ACCOUNTS.format(
            url=platform.url, receiver=receiver, unknown=unknown, agent=agent, limit=limit
        )
        stack = Stack(tmp_path, database_url, redis_url, model, accounts)
        opened.append(stack)
        return Phone(stack, platform)

    with ModelServer() as model:
        yield make
        for one in reversed(opened):
            if isinstance(one, Stack):
                one.close()
            else:
                one.__exit__()
                assert one.faults == []
