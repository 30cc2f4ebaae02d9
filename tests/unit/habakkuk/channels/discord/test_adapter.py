"""How an account is set up, and what a worker loads for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from habakkuk.channels.contract import WebhookRejected
from habakkuk.channels.messages import RawRequest
from habakkuk.channels.registry import Adapter, Channels
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.redaction import MASK, Redactor

_TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GfakeX.a-token_of-nobody-00000000001"


def _adapter(*, token: str = _TOKEN, **settings: Any) -> Adapter:
    config = ChannelConfig(**{"type": "discord", "token_env": "TOKEN"} | settings)
    line = Channels({"mine": config}, {"TOKEN": token}, OutsideHttp()).line("mine")
    assert line is not None
    return line.adapter


def test_it_listens_and_takes_no_webhooks() -> None:
    adapter = _adapter()
    assert adapter.settings.polls
    with pytest.raises(WebhookRejected):
        adapter.verify(RawRequest("POST", {}, b"{}"))


def test_another_token_is_another_line() -> None:
    assert _adapter().identity == _adapter().identity != _adapter(token="x" * 59).identity
    assert _TOKEN not in _adapter().identity


@pytest.mark.parametrize("token", ["short", f"Bot {_TOKEN}", _TOKEN + "\n", "ä" * 59])
def test_what_is_no_token_says_where_one_is(token: str) -> None:
    with pytest.raises(ConfigurationError, match="under Bot") as caught:
        _adapter(token=token)
    assert token not in str(caught.value)


def test_an_address_of_the_gateway_is_one_of_a_websocket() -> None:
    with pytest.raises(ConfigurationError, match="wss://"):
        _adapter(gateway_url="https://gateway.example.org")


def test_a_token_is_taken_out_of_every_log() -> None:
    assert Redactor().text(f"Bot {_TOKEN} said no") == f"Bot {MASK} said no"


def test_who_sends_loads_no_sdk() -> None:
    """It would take 25 MB of every worker."""
    code = (
        "import sys, habakkuk.channels.discord.adapter;"
        "sys.exit(bool({'discord', 'aiohttp'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
