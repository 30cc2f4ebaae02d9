"""What an agent sends while its turn runs: before the answer, once a call, or as a line."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, BinaryIO

import pytest

from habakkuk.agent.posting import Posts
from habakkuk.channels.contract import Feature, NotSent
from habakkuk.channels.messages import OutboundMessage, Poll, Receipt
from habakkuk.channels.webhook.adapter import WebhookAdapter
from habakkuk.conversations.types import Address
from habakkuk.gateway.types import Inbound
from tests.fakes.stack import Points, Stack, until
from tests.integration.intake.conftest import Room, Rooms

_SEND = '[[tool send_file {"path": "a.txt", "caption": "look"}]] go'
_POLL = '[[tool poll {"question": "Which?", "options": ["tea", "soup"], "multiple": true}]] go'
_UNSENT = "look\n\n📎 a.txt (1 kB) could not be sent here (no). It is in the workspace: a.txt"
_LIST = "Which?\n1. tea\n2. soup"

Can = Callable[..., None]


@pytest.fixture
def can(monkeypatch: pytest.MonkeyPatch) -> Can:
    """Let the platform take files or polls."""

    def make(*features: Feature, file_limit: int = 1000) -> None:
        facts = WebhookAdapter.manifest
        all_features = facts.features | set(features)
        made = replace(facts, features=all_features, file_limit=file_limit)
        monkeypatch.setattr(WebhookAdapter, "manifest", made)

    return make


@pytest.fixture
def room(rooms: Rooms) -> Room:
    made = rooms()
    _write(made.stack, b"hello")
    return made


def _write(stack: Stack, data: bytes) -> None:
    folder = stack.home / "agents" / "habakkuk" / "workspace"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.txt").write_bytes(data)


def _sent(room: Room, count: int) -> list[OutboundMessage]:
    until(lambda: len(room.sent) >= count)
    return room.sent


def _results(room: Room) -> list[dict[str, Any]]:
    return [row.result for row in room.rows("tool_calls")]


def test_a_file_goes_out_before_the_answer(room: Room, can: Can) -> None:
    can(Feature.FILES)
    room.stack.start()
    received = room.say(_SEND)
    first, answer = _sent(room, 2)
    assert first.file is not None
    assert (first.file.name, first.file.mime, first.file.size) == ("a.txt", "text/plain", 5)
    with first.file.open() as data:
        assert data.read() == b"hello"
    assert (first.text, first.kind, first.reply_to) == ("look", "file", received.id)
    assert (answer.file, answer.kind) == (None, "answer")


def test_where_no_files_arrive_a_line_says_which_there_is(room: Room) -> None:
    room.stack.start()
    room.say(_SEND)
    assert _sent(room, 2)[0].file is None
    assert room.sent[0].text == "look\n\n📎 a.txt (1 kB), in the workspace: a.txt"


def test_an_account_that_takes_less_by_then_gets_a_line(room: Room, can: Can) -> None:
    can(Feature.FILES)
    points = Points({"delivery.plan.after": 1}, lambda: can(Feature.FILES, file_limit=4))
    room.stack.start(points)
    room.say(_SEND)
    assert "too large to be sent here" in _sent(room, 2)[0].text


@pytest.mark.parametrize(
    ("said", "words"),
    [(_SEND, _UNSENT), (_POLL, _LIST)],
)
def test_what_the_platform_refuses_is_said_in_words(
    room: Room, can: Can, monkeypatch: pytest.MonkeyPatch, said: str, words: str
) -> None:
    can(Feature.FILES, Feature.POLLS)
    send = WebhookAdapter.send

    def refuse(adapter: WebhookAdapter, message: OutboundMessage) -> Receipt:
        if message.file is not None or message.poll is not None:
            raise NotSent("no")
        return send(adapter, message)

    monkeypatch.setattr(WebhookAdapter, "send", refuse)
    room.stack.start()
    room.say(said)
    assert room.told(2)[0] == words
    until(lambda: {row.state for row in room.rows("deliveries")} == {"sent"})


@pytest.mark.parametrize("point", ["delivery.words.after", "delivery.send.after"])
@pytest.mark.parametrize("said", [_SEND, _POLL])
def test_a_death_says_the_words_in_its_place_once(
    rooms: Rooms, can: Can, monkeypatch: pytest.MonkeyPatch, point: str, said: str
) -> None:
    """Platforms know a file by something else than its words: these are asked for by themselves."""
    room = rooms(options="receiver: read-back")
    room.platform.mode = "read-back"
    _write(room.stack, b"hello")
    can(Feature.FILES, Feature.POLLS)
    send, find, reasons = WebhookAdapter.send, WebhookAdapter.find, iter(["no", "never"])

    def refuse(adapter: WebhookAdapter, message: OutboundMessage) -> Receipt:
        if message.file is not None or message.poll is not None:
            raise NotSent(next(reasons))
        return send(adapter, message)

    def look(adapter: WebhookAdapter, message: OutboundMessage) -> Receipt | None:
        other = message.file is not None or message.poll is not None
        return None if other else find(adapter, message)

    monkeypatch.setattr(WebhookAdapter, "send", refuse)
    monkeypatch.setattr(WebhookAdapter, "find", look)
    points = Points({point: 1})
    room.stack.start(points)
    room.say(said)
    until(lambda: point in points.passed)
    room.stack.stop()
    room.stack.free_all()
    room.stack.start()
    until(lambda: {row.state for row in room.rows("deliveries")} == {"sent"})
    assert room.told(2)[0] == (_UNSENT if said == _SEND else _LIST)
    assert len(room.texts()) == 2


def test_one_that_is_too_large_is_told_to_the_model(room: Room, can: Can) -> None:
    can(Feature.FILES, file_limit=4)
    room.stack.start()
    room.heard(room.say(_SEND))
    (result,) = _results(room)
    assert result["is_error"]
    assert "5 bytes, more than the 4 that this chat takes" in result["text"]
    assert [message.kind for message in _sent(room, 1)] == ["answer"]


@pytest.mark.parametrize("point", ["tool.start.after", "tool.run.after"])
def test_a_call_that_a_crash_repeats_sends_once(room: Room, can: Can, point: str) -> None:
    can(Feature.FILES)
    points = Points({point: 1})
    room.stack.start(points)
    received = room.say(_SEND)
    until(lambda: point in points.passed)
    room.stack.stop()
    room.stack.free_all()
    room.stack.start()
    room.heard(received)
    until(lambda: {row.state for row in room.rows("deliveries")} == {"sent"})
    assert [message.kind for message in room.sent] == ["file", "answer"]


def test_nothing_is_sent_for_a_turn_that_was_stopped_meanwhile(
    room: Room, can: Can, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call is not waited for: it comes to the chat after “Stopped.” has been said."""
    can(Feature.FILES)
    stored, stopped, tried = threading.Event(), threading.Event(), threading.Event()
    store, post = Posts.store, Posts.post

    def slow(desk: Posts, source: BinaryIO, mime: str) -> str:
        stored.set()
        stopped.wait(30)
        return store(desk, source, mime)

    def watched(desk: Posts, *what: Any) -> None:
        try:
            post(desk, *what)
        finally:
            tried.set()

    monkeypatch.setattr(Posts, "store", slow)
    monkeypatch.setattr(Posts, "post", watched)
    room.stack.start()
    received = room.say(_SEND)
    assert stored.wait(30)
    room.say("/stop")
    until(lambda: room.stack.turn(received.turn_id).ended is not None)
    stopped.set()
    assert tried.wait(30)
    until(lambda: {row.state for row in room.rows("deliveries")} == {"sent"})
    assert [message.text for message in room.sent] == ["Stopping.", "Stopped."]


def test_a_poll_is_a_list_or_one_of_the_platform_s(room: Room, can: Can) -> None:
    room.stack.start()
    room.heard(room.say(_POLL))
    first = _sent(room, 2)[0]
    assert (first.text, first.poll) == (_LIST, None)
    can(Feature.POLLS)
    room.heard(room.say(_POLL))
    asked = _sent(room, 4)[2]
    assert (asked.text, asked.poll) == ("", Poll("Which?", ("tea", "soup"), multiple=True))


def test_in_the_dashboard_a_file_stands_in_the_conversation(room: Room) -> None:
    room.stack.start()
    admitted = room.stack.say(_SEND)
    room.stack.ended(admitted)
    rows = room.stack.rows(admitted)
    assert [(str(row.author), str(row.kind)) for row in rows][1:] == [
        ("agent", "file"),
        ("agent", "message"),
    ]
    assert rows[1].body == "look"
    attached = room.stack.container.conversations.file(admitted.conversation_id, rows[1].seq, 0)
    assert room.stack.container.blobs.get(attached.blob) == b"hello"
    assert room.rows("deliveries") == []


def test_without_a_chat_the_model_is_told_so(room: Room) -> None:
    stack = room.stack
    stack.start()
    inbound = Inbound(Address("openai", "openai", "c"), stack.owner, _SEND, "openai")
    stack.ended(stack.container.gateway.admit(inbound))
    (result,) = _results(room)
    assert "has no chat" in result["text"]


def test_a_turn_that_nobody_wrote_sends_to_its_conversation_s_chat(room: Room, can: Can) -> None:
    can(Feature.FILES)
    stack = room.stack
    stack.start()
    room.heard(room.say("hello"))
    address = Address("webhook", "chat", "room")
    inbound = Inbound(address, stack.owner, _SEND, "event", event=True)
    stack.ended(stack.container.gateway.admit(inbound))
    assert _sent(room, 2)[1].file is not None
