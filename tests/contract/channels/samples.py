"""How the contract suite talks to each channel; every channel needs its own here."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from habakkuk.channels.contract import RawRequest
from tests.fakes.platform import Platform

_SECRET = "whsec_" + base64.b64encode(b"another secret, of the contract!").decode()


@dataclass(frozen=True)
class Sample:
    """One channel: its settings, a genuine request, and its platform.

    `request` signs a body given as bytes; `message` is such a body, for (chat, sender, text).
    """

    settings: Callable[[str], Mapping[str, Any]]
    secrets: Mapping[str, str]
    request: Callable[[str, bytes], RawRequest]
    message: Callable[[str, str, str], bytes]
    platform: Callable[[], Any]


def _webhook_request(message_id: str, body: bytes) -> RawRequest:
    """Sign by hand: the foreign program takes text alone, and some bodies here are none."""
    now = int(datetime.now(UTC).timestamp())
    key = base64.b64decode(_SECRET.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message_id}.{now}.".encode() + body, hashlib.sha256).digest()
    headers = {
        "webhook-id": message_id,
        "webhook-timestamp": str(now),
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }
    return RawRequest("POST", headers, body)


def _webhook_message(chat: str, sender: str, said: str) -> bytes:
    return json.dumps({"chat": chat, "sender": {"id": sender}, "text": said}).encode()


@contextmanager
def _webhook_platform() -> Iterator[Platform]:
    with Platform(_SECRET) as platform:
        yield platform


SAMPLES: dict[str, Sample] = {
    "webhook": Sample(
        settings=lambda url: {"secret_env": "SECRET", "url": url},
        secrets={"SECRET": _SECRET},
        request=_webhook_request,
        message=_webhook_message,
        platform=_webhook_platform,
    ),
}
