"""How the contract suite talks to each channel; every channel needs its own here."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from habakkuk.channels.contract import RawRequest
from tests.fakes.platform import Platform
from tests.fakes.telegram_server import TOKEN, TelegramServer

_SECRET = "whsec_" + base64.b64encode(b"another secret, of the contract!").decode()
_TELEGRAM = {"TOKEN": TOKEN, "HOOK": "a-secret_of-the-webhook"}


@dataclass(frozen=True)
class Sample:
    """One channel: its settings, a genuine request, and its platform.

    `request` signs a body given as bytes; `message` is such a body, for (chat, sender, text).
    `names` is what the platform calls a message of it, its chat and its sender. `shows` is what
    people see of Markdown. Without `signs` the secret proves the sender and not the body; without
    `keyed` the platform is told no key.
    """

    settings: Callable[[str], Mapping[str, Any]]
    secrets: Mapping[str, str]
    request: Callable[[str, bytes], RawRequest]
    message: Callable[[str, str, str], bytes]
    platform: Callable[[], Any]
    names: tuple[str, str, str] = ("m1", "room", "alice")
    shows: Callable[[str], str] = str
    signs: bool = True
    keyed: bool = True


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


def _telegram_request(_message_id: str, body: bytes) -> RawRequest:
    return RawRequest("POST", {"x-telegram-bot-api-secret-token": _TELEGRAM["HOOK"]}, body)


def _telegram_message(chat: str, sender: str, said: str) -> bytes:
    sent = {
        "message_id": 12,
        "date": 1_700_000_000,
        "chat": {"id": int(chat), "type": "private", "first_name": "Alice"},
        "from": {"id": int(sender), "is_bot": False, "first_name": "Alice"},
        "text": said,
    }
    return json.dumps({"update_id": 900, "message": sent}).encode()


def _without_marks(markdown: str) -> str:
    """Say what stands on a screen; good for the marks that the suite uses."""
    return re.sub(r"```.*\n?", "", markdown).replace("*", "")


SAMPLES: dict[str, Sample] = {
    "webhook": Sample(
        settings=lambda url: {"secret_env": "SECRET", "url": url},
        secrets={"SECRET": _SECRET},
        request=_webhook_request,
        message=_webhook_message,
        platform=_webhook_platform,
    ),
    "telegram": Sample(
        settings=lambda url: {
            "token_env": "TOKEN",
            "webhook_secret_env": "HOOK",
            "username": "hab_bot",
            "api_url": url,
        },
        secrets=_TELEGRAM,
        request=_telegram_request,
        message=_telegram_message,
        platform=TelegramServer,
        names=("42:12", "42", "42"),
        shows=_without_marks,
        signs=False,
        keyed=False,
    ),
}
