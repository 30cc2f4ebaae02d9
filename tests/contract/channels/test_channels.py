"""What every channel must do, whichever platform it talks to (design: blueprint §15)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from habakkuk.channels.contract import NotSent, OutcomeUnknown, WebhookRejected, WebhookUnreadable
from habakkuk.channels.messages import InboundMessage, OutboundMessage, RawRequest
from habakkuk.channels.registry import Adapter, Channels, manifests
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.outside import OutsideHttp
from tests.contract.channels.samples.sample import Sample, sample_of
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE, Plan, refuse

_DOCS = Path(__file__).parents[3] / "docs" / "channels"
_MESSAGE = OutboundMessage("key1", "room", "", "hello", "answer", reply_to="m1", turn="turn_1")


@pytest.fixture(params=sorted(manifests()))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sample(name: str) -> Sample:
    return sample_of(name)


@pytest.fixture
def platform(sample: Sample) -> Iterator[Any]:
    with sample.platform() as opened:
        yield opened
        assert opened.faults == []


@pytest.fixture
def adapter(name: str, sample: Sample, platform: Any) -> Adapter:
    return _adapter(name, sample, platform.url, sample.secrets)


def _adapter(name: str, sample: Sample, url: str, secrets: Any) -> Adapter:
    config = ChannelConfig(type=name, **sample.settings(url))
    line = Channels({"mine": config}, secrets, OutsideHttp()).line("mine")
    assert line is not None
    return line.adapter


def _request(sample: Sample, said: str) -> RawRequest:
    message, chat, sender = sample.names
    return sample.request(message, sample.message(chat, sender, said))


def test_its_facts_make_sense(name: str) -> None:
    manifest = manifests()[name]
    assert manifest.name == name
    assert manifest.limit > 0
    page = (_DOCS / f"{name}.md").read_text()
    assert [key for key in manifest.settings.model_fields if f"| `{key}` |" not in page] == []


def test_without_its_secret_it_does_not_start(name: str, sample: Sample, platform: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"channels\.mine"):
        _adapter(name, sample, platform.url, {})


def test_a_genuine_message_is_read(adapter: Adapter, sample: Sample) -> None:
    said = "grüß dich 👋 <b>&"
    request = _request(sample, said)
    adapter.verify(request)
    (message,) = adapter.parse(request)
    assert isinstance(message, InboundMessage)
    assert (message.id, message.chat, message.sender) == sample.names
    assert message.text == "grüß dich 👋 <b>&"


def test_the_same_message_has_the_same_id(adapter: Adapter, sample: Sample) -> None:
    ids = {adapter.parse(_request(sample, "hello"))[0].id for _ in range(3)}
    assert ids == {sample.names[0]}


def test_what_was_changed_on_the_way_is_rejected(adapter: Adapter, sample: Sample) -> None:
    if not sample.signs:
        pytest.skip("its secret stands beside the body")
    request = _request(sample, "hello")
    with pytest.raises(WebhookRejected):
        adapter.verify(replace(request, body=request.body.replace(b"hello", b"hell0")))


def test_what_nobody_signed_is_rejected(adapter: Adapter, sample: Sample) -> None:
    request = _request(sample, "hello")
    with pytest.raises(WebhookRejected):
        adapter.verify(replace(request, headers={}))


_NO_MESSAGES = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"{",
    b"\xff\xfe",
    b"1e999",
    b'{"chat": 5, "sender": {"id": "a"}, "text": "x"}',
    b'{"chat": "", "sender": {"id": "a"}, "text": "x"}',
    b'{"chat": "c", "sender": "a", "text": "x"}',
    b'{"chat": "c", "sender": {"id": "a"}, "text": ["x"]}',
    b"[" * 100_000,
    b'{"text": "' + b"x" * 900_000,
]


@pytest.mark.parametrize("body", _NO_MESSAGES, ids=range(len(_NO_MESSAGES)))
def test_a_genuine_request_without_sense_is_unreadable(
    adapter: Adapter, sample: Sample, body: bytes
) -> None:
    request = sample.request("m1", body)
    adapter.verify(request)
    with pytest.raises(WebhookUnreadable):
        adapter.parse(request)


def test_a_message_arrives_as_it_was_meant(adapter: Adapter, sample: Sample, platform: Any) -> None:
    said = "a < b && c > d\n```py\nx = '👋'\n```\n*not bold* _"
    adapter.send(replace(_MESSAGE, text=said))
    (shown,) = platform.shown
    assert shown.text == sample.shows(said)
    assert shown.key == ("key1" if sample.keyed else "")


def test_a_repeat_carries_the_same_key(adapter: Adapter, sample: Sample, platform: Any) -> None:
    if not sample.keyed:
        pytest.skip("its platform knows no keys")
    for _ in range(2):
        adapter.send(_MESSAGE)
    assert {post.key for post in platform.posts} == {"key1"}
    assert len(platform.posts) == 2


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_a_platform_that_is_busy_is_asked_again(
    adapter: Adapter, platform: Any, status: int
) -> None:
    platform.plans.append(refuse(status, retry_after="7"))
    with pytest.raises(NotSent) as caught:
        adapter.send(_MESSAGE)
    assert caught.value.retryable
    assert caught.value.retry_after == 7


@pytest.mark.parametrize("status", [301, 302, 400, 401, 403, 404, 410, 413, 422])
def test_a_platform_that_says_no_is_not_asked_again(
    adapter: Adapter, platform: Any, status: int
) -> None:
    platform.plans.append(refuse(status, location="http://127.0.0.1:1/"))
    with pytest.raises(NotSent) as caught:
        adapter.send(_MESSAGE)
    assert not caught.value.retryable


@pytest.mark.parametrize("plan", [DROP_AFTER, DROP_BEFORE, Plan(answer=502), Plan(answer=504)])
def test_where_no_answer_tells_the_outcome_is_unknown(
    adapter: Adapter, platform: Any, plan: Plan
) -> None:
    platform.plans.append(plan)
    with pytest.raises(OutcomeUnknown):
        adapter.send(_MESSAGE)


def test_a_platform_that_is_away_has_not_got_it(name: str, sample: Sample) -> None:
    adapter = _adapter(name, sample, "http://127.0.0.1:1/", sample.secrets)
    with pytest.raises(NotSent) as caught:
        adapter.send(_MESSAGE)
    assert caught.value.retryable


def test_no_error_tells_a_secret(adapter: Adapter, sample: Sample, platform: Any) -> None:
    platform.plans.append(refuse(400))
    with pytest.raises(NotSent) as caught:
        adapter.send(_MESSAGE)
    assert not any(secret in str(caught.value) for secret in sample.secrets.values())
    assert not any(secret in repr(adapter.account) for secret in sample.secrets.values())
