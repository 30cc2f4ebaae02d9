"""How an account is set up, and how Telegram proves itself (security cases 10, 13, 35)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import httpx
import pytest

from habakkuk.channels.contract import WebhookRejected
from habakkuk.channels.messages import RawRequest
from habakkuk.channels.registry import Adapter, Channels
from habakkuk.channels.telegram.client import _BEFORE_SENDING
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.outside import OutsideHttp

_TOKEN = "123456789:AAbot-token_of-nobody-000000000000001"
_HOOKED = {"webhook_secret_env": "HOOK", "username": "hab_bot"}


def _adapter(*, token: str = _TOKEN, hook: str = "a-secret", **settings: Any) -> Adapter:
    config = ChannelConfig(**{"type": "telegram", "token_env": "TOKEN"} | settings)
    channels = Channels({"mine": config}, {"TOKEN": token, "HOOK": hook}, OutsideHttp())
    line = channels.line("mine")
    assert line is not None
    return line.adapter


def _request(**headers: str) -> RawRequest:
    return RawRequest("POST", {name.replace("_", "-"): said for name, said in headers.items()}, b"")


def test_without_a_secret_it_fetches_and_takes_no_webhooks() -> None:
    adapter = _adapter()
    assert adapter.settings.polls
    with pytest.raises(WebhookRejected):
        adapter.verify(_request(x_telegram_bot_api_secret_token=""))


def test_with_a_secret_it_is_brought_what_is_written() -> None:
    adapter = _adapter(**_HOOKED)
    assert not adapter.settings.polls
    adapter.verify(_request(x_telegram_bot_api_secret_token="a-secret"))


@pytest.mark.parametrize("sent", ["", "a-secre", "a-secret ", "A-SECRET", "ä-secret", "\udcff"])
def test_another_secret_is_rejected(sent: str) -> None:
    with pytest.raises(WebhookRejected) as caught:
        _adapter(**_HOOKED).verify(_request(x_telegram_bot_api_secret_token=sent))
    assert "a-secret" not in str(caught.value)


def test_a_replaced_token_is_still_the_same_bot() -> None:
    assert _adapter().identity == _adapter(token="123456789:another").identity == "123456789"


@pytest.mark.parametrize("token", ["what is this", "55512345", ":AAbot", "12x:AAbot", "1:AA/../x"])
def test_what_is_no_token_is_said_without_it(token: str) -> None:
    with pytest.raises(ConfigurationError, match="BotFather") as caught:
        _adapter(token=token)
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"webhook_secret_env": "HOOK"}, "needs username"),
        ({"username": "@hab_bot"}, "without @"),
        ({"api_url": "ftp://127.0.0.1"}, "write a URL"),
        ({"api_url": "127.0.0.1:8081"}, "write a URL"),
        ({"api_urls": "http://127.0.0.1"}, "did you mean 'api_url'"),
    ],
)
def test_settings_say_what_to_change(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        _adapter(**settings)


def test_a_secret_that_telegram_would_not_take_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="webhook_secret_env"):
        _adapter(hook="not one!", **_HOOKED)


def test_the_sdk_names_failures_as_we_know_them() -> None:
    assert [name for name in _BEFORE_SENDING if not hasattr(httpx, name)] == []


def test_its_facts_are_known_without_its_libraries() -> None:
    look = (
        "import sys; from habakkuk.channels.registry import manifests; manifests();"
        "sys.exit(bool({'telegram', 'httpx', 'pyromark'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", look], timeout=60, check=False).returncode == 0
