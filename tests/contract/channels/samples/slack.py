"""Slack's Events API and Web API."""

from __future__ import annotations

import hashlib
import hmac
import json
import time

from habakkuk.channels.messages import RawRequest
from tests.contract.channels.samples.sample import Sample
from tests.fakes.slack_server import BOT_TOKEN, SlackServer

_SECRETS = {"BOT": BOT_TOKEN, "SIGNING": "0123456789abcdef0123456789abcdef"}
_TS = "1700000000.000100"


def _request(_message_id: str, body: bytes) -> RawRequest:
    """Sign by hand: the SDK's signer takes text alone, and some bodies here are none."""
    now = str(int(time.time()))
    signed = b"v0:" + now.encode() + b":" + body
    digest = hmac.new(_SECRETS["SIGNING"].encode(), signed, hashlib.sha256).hexdigest()
    headers = {"x-slack-request-timestamp": now, "x-slack-signature": f"v0={digest}"}
    return RawRequest("POST", headers, body)


def _message(chat: str, sender: str, said: str) -> bytes:
    text = said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    event = {"type": "message", "channel_type": "im", "ts": _TS, "event_ts": _TS}
    event |= {"channel": chat, "user": sender, "text": text}
    return json.dumps(SlackServer.callback(event), ensure_ascii=False).encode()


SAMPLE = Sample(
    settings=lambda url: {
        "bot_token_env": "BOT",
        "signing_secret_env": "SIGNING",
        "api_url": url,
    },
    secrets=_SECRETS,
    request=_request,
    message=_message,
    platform=SlackServer,
    names=(f"T1:D1:{_TS}", "D1", "U42"),
)
