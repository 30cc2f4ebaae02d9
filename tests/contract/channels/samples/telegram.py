"""Telegram's Bot API."""

from __future__ import annotations

import json
import re

from habakkuk.channels.messages import RawRequest
from tests.contract.channels.samples.sample import Sample
from tests.fakes.telegram_server import TOKEN, TelegramServer

_SECRETS = {"TOKEN": TOKEN, "HOOK": "a-secret_of-the-webhook"}


def _request(_message_id: str, body: bytes) -> RawRequest:
    return RawRequest("POST", {"x-telegram-bot-api-secret-token": _SECRETS["HOOK"]}, body)


def _message(chat: str, sender: str, said: str) -> bytes:
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


SAMPLE = Sample(
    settings=lambda url: {
        "token_env": "TOKEN",
        "webhook_secret_env": "HOOK",
        "username": "hab_bot",
        "api_url": url,
    },
    secrets=_SECRETS,
    request=_request,
    message=_message,
    platform=TelegramServer,
    names=("42:12", "42", "42"),
    shows=_without_marks,
    signs=False,
    keyed=False,
)
