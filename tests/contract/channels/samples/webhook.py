"""A program of somebody's own."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from habakkuk.channels.messages import RawRequest
from tests.contract.channels.samples.sample import Sample
from tests.fakes.platform import Platform

_SECRET = "whsec_" + base64.b64encode(b"another secret, of the contract!").decode()


def _request(message_id: str, body: bytes) -> RawRequest:
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


def _message(chat: str, sender: str, said: str) -> bytes:
    return json.dumps({"chat": chat, "sender": {"id": sender}, "text": said}).encode()


@contextmanager
def _platform() -> Iterator[Platform]:
    with Platform(_SECRET) as platform:
        yield platform


SAMPLE = Sample(
    settings=lambda url: {"secret_env": "SECRET", "url": url},
    secrets={"SECRET": _SECRET},
    request=_request,
    message=_message,
    platform=_platform,
)
