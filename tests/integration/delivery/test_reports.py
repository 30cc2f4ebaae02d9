"""What an operator sees of answers that did not go out as they should."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from habakkuk.delivery.types import DeliveryState
from tests.fakes.platform import DROP_AFTER, refuse
from tests.fakes.stack import until
from tests.integration.delivery.conftest import Phones
from web.cli import group


@pytest.fixture
def run(
    tmp_path: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    monkeypatch.setenv("HABAKKUK_HOME", str(tmp_path))
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("MINE_KEY", "key-of-the-fake-service")

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(group(), words, prog_name="habakkuk")

    return invoke


def test_what_failed_and_what_may_be_seen_twice_is_listed(
    phones: Phones, run: Callable[..., Result]
) -> None:
    phone = phones("plain")
    phone.platform.plans += [refuse(400)]
    phone.stack.start()
    phone.say("refused")
    failed = phone.delivery("failed")
    phone.platform.plans += [DROP_AFTER]
    phone.say("doubled", sender="bob", chat="other")
    deliveries = phone.stack.container.deliveries
    until(lambda: [one.state for one in deliveries.listed()] == ["sent", "failed"])
    doubled, refused = deliveries.listed()
    assert (refused.id, refused.state, refused.chat) == (failed.id, DeliveryState.FAILED, "room")
    assert "HTTP 400" in str(refused.error)
    assert (doubled.state, doubled.uncertain, doubled.sent) == (DeliveryState.SENT, 1, 1)
    shown = run("deliveries", "list").stdout
    assert failed.id in shown
    assert "1 maybe twice" in shown
    assert "habakkuk jobs retry" in shown
    told = json.loads(run("deliveries", "list", "-o", "json").stdout)["deliveries"]
    assert [one["state"] for one in told] == ["sent", "failed"]


def test_what_arrived_is_listed_on_request(phones: Phones, run: Callable[..., Result]) -> None:
    phone = phones("keyed")
    phone.stack.start()
    phone.say("hello")
    sent = phone.delivery("sent")
    assert run("deliveries", "list").stdout == "Everything arrived.\n"
    assert sent.id in run("deliveries", "list", "--all").stdout


def test_accounts_are_listed_with_what_keeps_them_closed(
    phones: Phones, run: Callable[..., Result]
) -> None:
    phones()
    shown = run("channels", "list").stdout
    assert "phone" in shown
    assert "webhook" in shown
    assert "closed: channels.closed: the variable NO_SECRET is not set" in shown
    told = json.loads(run("channels", "list", "-o", "json").stdout)["channels"]
    assert [(one["name"], one["state"]) for one in told] == [
        ("phone", "webhook"),
        ("silent", "webhook"),
        ("closed", "closed"),
    ]


def test_one_is_tried_and_an_unknown_one_is_named(
    phones: Phones, run: Callable[..., Result]
) -> None:
    phones()
    assert run("channels", "test", "phone").stdout == "phone: Webhook\n"
    unknown = run("channels", "test", "phnoe")
    assert unknown.exit_code == 1
    assert "phone, silent, closed" in unknown.stderr
    restarted = run("channels", "restart", "phone")
    assert restarted.exit_code == 1
    assert "No poller listens" in restarted.stderr
