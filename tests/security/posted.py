"""Webhooks as a stranger makes them: every part of a request can be another one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from sqlalchemy import text

from tests.security.door import Served

KEY = b"a key that both sides of it know"
_STORED = text("SELECT 1 FROM chat_messages WHERE author = 'user'")
SECRET = "whsec_" + base64.b64encode(KEY).decode()


@dataclass(frozen=True)
class Post:
    """One request to an account; what is not given is what a genuine client sends."""

    body: bytes = b""
    id: str = "m1"
    age: int = 0
    key: bytes = KEY
    account: str = "phone"

    def headers(self) -> dict[str, str]:
        """Sign as the specification says."""
        now = str(int(time.time()) - self.age)
        signed = f"{self.id}.{now}.".encode() + self.body
        digest = hmac.new(self.key, signed, hashlib.sha256).digest()
        signature = "v1," + base64.b64encode(digest).decode()
        return {"webhook-id": self.id, "webhook-timestamp": now, "webhook-signature": signature}

    def to(self, client: httpx2.Client, **changed: str | None) -> httpx2.Response:
        """Send it, with some headers changed (`webhook_id`) and those that are None left out."""
        named = {name.replace("_", "-"): value for name, value in changed.items()}
        headers = {
            name.encode(): value.encode()
            for name, value in (self.headers() | named).items()
            if value is not None
        }
        return client.post(f"/channels/{self.account}", content=self.body, headers=headers)


def said(words: str = "hello", sender: Any = "alice", **more: Any) -> Post:
    """Return what a genuine client sends for a text of a sender."""
    who = sender if isinstance(sender, dict) else {"id": sender}
    return Post(json.dumps({"chat": "room", "sender": who, "text": words, **more}).encode())


def named(post: Post, number: int) -> Post:
    """Return the same as another message."""
    return replace(post, id=f"n{number}")


def taken(served: Served) -> int:
    """Return how many messages of people are stored."""
    rows = served.stack.container.database.run(_STORED)
    return len(list(rows))
