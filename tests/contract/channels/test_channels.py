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

_DOCS = Path(__file__).parents[3] / "docs" / "channels"
_MESSAGE = OutboundMessage("key1", "", "", "hello", "answer", reply_to="m1", turn="turn_1")


@pytest.fixture(params=sorted(manifests()))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sample(name: str) -> Sample:
    return sample_of(name)


@pytest.fixture
def brought(sample: Sample) -> None:
    """Leave a test out where the platform brings nothing by itself."""
    if not sample.webhook:
        pytest.skip("its messages are always fetched")


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


@pytest.fixture
def outbound(sample: Sample) -> OutboundMessage:
    return replace(_MESSAGE, chat=sample.names[1])


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


@pytest.mark.usefixtures("brought")
def test_a_genuine_message_is_read(adapter: Adapter, sample: Sample) -> None:
    said = "grüß dich 👋 <b>&"
    request = _request(sample, said)
    adapter.verify(request)
    (message,) = adapter.parse(request)
    assert isinstance(message, InboundMessage)
    assert (message.id, message.chat, message.sender) == sample.names
    assert message.text == "grüß dich 👋 <b>&"


@pytest.mark.usefixtures("brought")
def test_the_same_message_has_the_same_id(adapter: Adapter, sample: Sample) -> None:
    ids = {adapter.parse(_request(sample, "hello"))[0].id for _ in range(3)}
    assert ids == {sample.names[0]}


@pytest.mark.usefixtures("brought")
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


def test_without_webhooks_every_request_is_turned_away(adapter: Adapter, sample: Sample) -> None:
    if sample.webhook:
        pytest.skip("its platform brings messages")
    with pytest.raises(WebhookRejected):
        adapter.verify(_request(sample, "hello"))


_NOoutboundS = [
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


@pytest.mark.usefixtures("brought")
@pytest.mark.parametrize("body", _NOoutboundS, ids=range(len(_NOoutboundS)))
def test_a_genuine_request_without_sense_is_unreadable(
    adapter: Adapter, sample: Sample, body: bytes
) -> None:
    request = sample.request("m1", body)
    adapter.verify(request)
    with pytest.raises(WebhookUnreadable):
        adapter.parse(request)


def test_a_message_arrives_as_it_was_meant(
    adapter: Adapter, sample: Sample, platform: Any, outbound: OutboundMessage
) -> None:
    said = "a < b && c > d\n```py\nx = '👋'\n```\n*not bold* _"
    adapter.send(replace(outbound, text=said))
    (shown,) = platform.shown
    assert shown.text == sample.shows(said)
    assert shown.key == ("key1" if sample.keyed else "")


def test_a_repeat_carries_the_same_key(
    adapter: Adapter, sample: Sample, platform: Any, outbound: OutboundMessage
) -> None:
    if not sample.keyed:
        pytest.skip("its platform knows no keys")
    for _ in range(2):
        adapter.send(outbound)
    assert {post.key for post in platform.posts} == {"key1"}
    assert len(platform.posts) == 2


def test_a_platform_that_is_busy_is_asked_again(
    adapter: Adapter, sample: Sample, platform: Any, outbound: OutboundMessage
) -> None:
    for plan in sample.busy:
        platform.plans.append(plan)
        with pytest.raises(NotSent) as caught:
            adapter.send(outbound)
        assert (plan, caught.value.retryable) == (plan, True)
        assert caught.value.retry_after == sample.wait


def test_a_platform_that_says_no_is_not_asked_again(
    adapter: Adapter, sample: Sample, platform: Any, outbound: OutboundMessage
) -> None:
    for plan in sample.closed:
        platform.plans.append(plan)
        with pytest.raises(NotSent) as caught:
            adapter.send(outbound)
        assert (plan, caught.value.retryable) == (plan, False)


def test_where_no_answer_tells_the_outcome_is_unknown(
    adapter: Adapter, sample: Sample, platform: Any, outbound: OutboundMessage
) -> None:
    for plan in sample.lost:
        platform.plans.append(plan)
        with pytest.raises(OutcomeUnknown):
            adapter.send(outbound)


def test_a_platform_that_is_away_has_not_got_it(
    name: str, sample: Sample, outbound: OutboundMessage
) -> None:
    adapter = _adapter(name, sample, "http://127.0.0.1:1/", sample.secrets)
    with pytest.raises(NotSent) as caught:
        adapter.send(outbound)
    assert caught.value.retryable


def test_no_error_tells_a_secret(
    adapter: Adapter, sample: Sample, platform: Any, outbound: OutboundMessage
) -> None:
    platform.plans.append(sample.closed[0])
    with pytest.raises(NotSent) as caught:
        adapter.send(outbound)
    assert not any(secret in str(caught.value) for secret in sample.secrets.values())
    assert not any(secret in repr(adapter.account) for secret in sample.secrets.values())
