"""How an account is set up, and how Slack proves itself (security cases 10, 13, 35)."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from slack_sdk.signature import SignatureVerifier

from habakkuk.channels.contract import WebhookRejected
from habakkuk.channels.messages import RawRequest, Reply
from habakkuk.channels.registry import Adapter, Channels
from habakkuk.channels.slack import signature
from habakkuk.channels.slack.client import Client
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.outside import OutsideHttp

_SECRET = "0123456789abcdef0123456789abcdef"
_SECRETS = {"BOT": "xoxb-1-2-bot", "APP": "xapp-1-A-2-app", "SIGNING": _SECRET}
_LINE: dict[str, Any] = {"app_token_env": "APP"}
_HOOKED: dict[str, Any] = {"signing_secret_env": "SIGNING"}


def _adapter(secrets: dict[str, str] | None = None, **settings: Any) -> Adapter:
    config = ChannelConfig(**{"type": "slack", "bot_token_env": "BOT"} | settings)
    channels = Channels({"mine": config}, _SECRETS | (secrets or {}), OutsideHttp())
    line = channels.line("mine")
    assert line is not None
    return line.adapter


def _signed(body: bytes, stamp: str, secret: str = _SECRET) -> RawRequest:
    """Sign with the SDK of Slack itself."""
    made = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    assert made is not None
    headers = {"x-slack-request-timestamp": stamp, "x-slack-signature": made}
    return RawRequest("POST", headers, body)


def test_with_an_app_token_it_has_a_line_and_takes_no_webhooks() -> None:
    adapter = _adapter(**_LINE)
    assert adapter.settings.polls
    with pytest.raises(WebhookRejected):
        adapter.verify(_signed(b"{}", str(int(time.time()))))


def test_with_a_signing_secret_it_is_brought_what_is_written() -> None:
    adapter = _adapter(**_HOOKED)
    assert not adapter.settings.polls
    adapter.verify(_signed("grüß dich".encode(), str(int(time.time()))))


def test_the_example_of_the_documentation_is_genuine() -> None:
    """https://docs.slack.dev/authentication/verifying-requests-from-slack, "Validating"."""
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
        b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
        b"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2F"
        b"commands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    headers = {
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    }
    secret = b"8f742231b10e8888abcd99yyyzzz85a5"
    signature.check(secret, headers, body, 1531420618.0)


@pytest.mark.parametrize("seconds", [-400, 400])
def test_a_request_of_another_time_is_rejected(seconds: int) -> None:
    with pytest.raises(WebhookRejected, match="five minutes"):
        _adapter(**_HOOKED).verify(_signed(b"{}", str(int(time.time()) + seconds)))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-slack-request-timestamp": "now"},
        {"x-slack-request-timestamp": "1e9"},
        {"x-slack-request-timestamp": "-1"},
        {"x-slack-signature": "v0=ä"},
        {"x-slack-signature": "v0=\udcff"},
        {"x-slack-signature": ""},
        {"x-slack-signature": "v0="},
    ],
)
def test_headers_that_make_no_sense_are_rejected(headers: dict[str, str]) -> None:
    genuine = _signed(b"{}", str(int(time.time())))
    request = RawRequest("POST", {**genuine.headers, **headers} if headers else {}, b"{}")
    with pytest.raises(WebhookRejected):
        _adapter(**_HOOKED).verify(request)


def test_another_secret_is_rejected() -> None:
    with pytest.raises(WebhookRejected) as caught:
        _adapter(**_HOOKED).verify(_signed(b"{}", str(int(time.time())), "f" * 32))
    assert _SECRET not in str(caught.value)


def test_slack_is_told_that_the_address_is_ours_and_shown_nothing_else() -> None:
    adapter = _adapter(**_HOOKED)
    asked = RawRequest("POST", {}, b'{"type": "url_verification", "challenge": "3eZb"}')
    assert list(adapter.parse(asked)) == []
    assert adapter.reply(asked) == Reply("3eZb", "text/plain")
    assert adapter.reply(RawRequest("POST", {}, b"command=%2Fstop")) == Reply()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("BOT", "xoxp-1-2-user", "bot_token_env"),
        ("BOT", "xapp-1-A-2-app", "xoxb-"),
        ("APP", "xoxb-1-2-bot", "xapp-"),
        ("APP", "xapp-1\nA", "connections:write"),
    ],
)
def test_what_is_no_token_is_said_without_it(name: str, value: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        _adapter({name: value}, **_LINE)
    assert value not in str(caught.value)


def test_what_is_no_signing_secret_is_said() -> None:
    with pytest.raises(ConfigurationError, match="Basic Information"):
        _adapter({"SIGNING": "xoxb-1"}, **_HOOKED)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "either app_token_env"),
        (_LINE | _HOOKED, "either app_token_env"),
        (_LINE | {"workspaces": {"acme": "BOT"}}, "workspace's id"),
        (_LINE | {"workspaces": {"T0123456": "NONE"}}, "NONE is not set"),
        (_LINE | {"workspaces": {"T0123456": "APP"}}, "workspaces.T0123456"),
        (_LINE | {"api_url": "ftp://127.0.0.1"}, "write a URL"),
        (_LINE | {"api_urls": "http://127.0.0.1"}, "did you mean 'api_url'"),
    ],
)
def test_settings_say_what_to_change(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        _adapter(**settings)


def test_two_apps_are_told_apart_and_no_token_is_shown() -> None:
    adapter = _adapter(**_LINE)
    assert adapter.identity == _adapter({"BOT": "xoxb-another"}, **_LINE).identity
    assert adapter.identity != _adapter({"APP": "xapp-another"}, **_LINE).identity
    assert "xapp" not in adapter.identity


@pytest.mark.parametrize(
    ("url", "slacks"),
    [
        ("https://files.slack.com/files-pri/T1-F1/x.pdf", True),
        ("https://acme.slack.com/x", True),
        ("https://acme.enterprise.slack.com/x", True),
        ("https://slack.com/api/x", True),
        ("http://files.slack.com/x", False),
        ("https://files.slack.com:8443/x", False),
        ("https://files.slack.com.evil.example/x", False),
        ("https://evilslack.com/x", False),
        ("https://evil.example/files.slack.com", False),
        ("https://files.slack.com@evil.example/x", False),
        ("http://127.0.0.1/x", False),
        ("https://[::1/x", False),
    ],
)
def test_the_token_goes_to_slack_alone(url: str, slacks: bool) -> None:
    client = Client("xoxb-1", "https://slack.com/api/", OutsideHttp())
    assert client.is_slacks(url) is slacks


def test_the_operators_own_server_is_slacks_too() -> None:
    client = Client("xoxb-1", "http://127.0.0.1:9/api/", OutsideHttp())
    assert client.is_slacks("http://127.0.0.1:9/files/x")
    assert not client.is_slacks("http://127.0.0.1:10/files/x")


def test_its_facts_are_known_without_its_libraries() -> None:
    look = (
        "import sys; from habakkuk.channels.registry import manifests; manifests();"
        "sys.exit(bool({'slack_sdk', 'slack_bolt', 'websockets', 'pyromark'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", look], timeout=60, check=False).returncode == 0


def test_what_only_listens_is_not_loaded_by_what_sends() -> None:
    look = (
        "import sys; import habakkuk.channels.slack.adapter;"
        "sys.exit(bool({'slack_bolt', 'websockets'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", look], timeout=60, check=False).returncode == 0
