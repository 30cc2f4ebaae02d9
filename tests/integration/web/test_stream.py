"""Catching up with a conversation: every message once and in order, whatever was missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.web.served import Served, Sse, events
from tests.servers import ValkeyServer


def rows_until(served: Served, count: int, after: int = 0, conversation: str = "c") -> list[Sse]:
    """Follow a conversation until `count` messages came."""
    path = f"/api/chat/{conversation}/events?after={after}"
    found: list[Sse] = []
    with served.client.stream("GET", path) as stream:
        for event in events(stream):
            if event.id:
                found.append(event)
            if len(found) == count:
                return found
    raise AssertionError("the stream ended early")


def test_a_stream_begins_with_what_was_missed(served: Served) -> None:
    served.stack.start()
    for n in range(3):
        served.ask(f"m{n}")
    rows = rows_until(served, 4, after=2)
    assert [row.id for row in rows] == ["3", "4", "5", "6"]
    assert [row.json["text"] for row in rows] == ["m1", "echo: m1", "m2", "echo: m2"]


def test_a_long_history_comes_whole(served: Served) -> None:
    for n in range(230):
        served.send(f"m{n}")
    rows = rows_until(served, 230)
    assert [row.json["text"] for row in rows] == [f"m{n}" for n in range(230)]


def test_the_last_event_id_says_where_to_go_on(served: Served) -> None:
    served.send("one")
    served.send("two")
    with served.client.stream(
        "GET", "/api/chat/c/events", headers={"Last-Event-ID": "1"}
    ) as stream:
        assert next(e for e in events(stream) if e.id).json["text"] == "two"


def test_a_stream_may_be_opened_before_the_first_message(served: Served) -> None:
    with served.client.stream("GET", "/api/chat/c/events") as stream:
        seen = events(stream)
        assert next(seen).comment == "keepalive"
        served.send("first")
        assert next(e for e in seen if e.id).json["text"] == "first"


def test_a_stream_goes_on_after_new(served: Served) -> None:
    served.stack.start()
    served.ask("before")
    with served.client.stream("GET", "/api/chat/c/events?after=2") as stream:
        seen = events(stream)
        next(seen)
        served.send("/new")
        served.send("after [[tokens 20]] [[delay 0.05]]")
        came = []
        for event in seen:
            came.append(event)
            if event.id == "6":
                break
    texts = [e.json["text"] for e in came if e.id]
    assert texts[0] == "/new"
    assert texts[2].startswith("after")
    assert texts[3].startswith("echo: after")
    assert [e for e in came if e.event == "text.delta"]


def test_a_reconnect_in_the_middle_shows_the_running_text_so_far(served: Served) -> None:
    served.stack.start()
    served.ask("before")
    sent = served.send("hello [[tokens 30]] [[delay 0.05]]")
    with served.client.stream("GET", "/api/chat/c/events?after=3") as stream:
        first = next(e for e in events(stream) if e.event == "text.delta")
    with served.client.stream("GET", "/api/chat/c/events?after=3") as stream:
        deltas = []
        answer: dict[str, Any] = {}
        for event in events(stream):
            if event.event == "text.delta":
                deltas.append(event.json)
            if event.id:
                answer = event.json
                break
    assert first.json["turn"] == sent["turn"]
    assert deltas[0]["at"] == 0
    assert answer["text"].startswith("".join(d["text"] for d in deltas).strip())
    assert answer["turn"] == sent["turn"]


def test_other_clients_messages_are_seen(served: Served) -> None:
    served.send("one")
    with served.client.stream("GET", "/api/chat/c/events?after=1") as stream:
        seen = events(stream)
        next(seen)
        served.send("two")
        assert next(e for e in seen if e.id).json["text"] == "two"


@pytest.mark.parametrize("change", ["PATCH", "DELETE"])
def test_who_looks_on_is_told_that_the_queue_changed(served: Served, change: str) -> None:
    served.send("one")
    body = {"text": "better"} if change == "PATCH" else None
    with served.client.stream("GET", "/api/chat/c/events?after=1") as stream:
        seen = events(stream)
        next(seen)
        served.client.request(change, "/api/conversations/c/messages/1", json=body)
        told = next(event for event in seen if event.data)
        assert (told.event, told.id, told.json["turn"]) == ("queue.changed", None, "")


@pytest.fixture
def lonely(home: Path, database_url: str, redis_server: ValkeyServer, model: ModelServer) -> Stack:
    return Stack(home, database_url, redis_server.url(), model)


def test_without_redis_messages_are_accepted_answered_and_followed(
    lonely: Stack, redis_server: ValkeyServer
) -> None:
    redis_server.kill()
    try:
        with Served(lonely) as served:
            lonely.start()
            answer = served.client.get("/healthz")
            assert (answer.status_code, answer.json()) == (
                200,
                {"status": "ok", "degraded": ["redis"]},
            )
            sent = served.send("hello [[tokens 3]]")
            rows = rows_until(served, 2)
            assert rows[1].json["turn"] == sent["turn"]
            assert rows[1].json["text"].startswith("echo: hello")
            body = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
            with served.client.stream("POST", "/v1/chat/completions", json=body) as stream:
                data = [e for e in events(stream) if e.data]
            assert data[-1].data == "[DONE]"
            texts = [e.json["choices"][0]["delta"].get("content", "") for e in data[:-1]]
            assert "".join(texts) == "echo: hi"
    finally:
        lonely.close()
