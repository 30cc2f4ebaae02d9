"""What is wrong, too large or meant to harm is answered in one sentence, and nothing is stored."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.integration.web.served import Served

JSON = {"Content-Type": "application/json"}
ADDRESSES = ["/api/chat", "/v1/chat/completions"]


def valid(path: str) -> dict[str, Any]:
    if path == "/api/chat":
        return {"conversation": "c", "text": "hello"}
    return {"messages": [{"role": "user", "content": "hello"}]}


def refused(answer: httpx2.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    message = answer.json()["error"]["message"]
    assert "\n" not in message
    assert len(message) < 250
    assert "Traceback" not in answer.text
    return str(message)


@pytest.fixture
def untouched(served: Served) -> Iterator[Served]:
    """Check that the test has stored nothing."""
    yield served
    assert served.client.get("/api/sessions").json()["sessions"] == []
    assert served.client.get("/api/chat").json()["conversations"] == []
    assert served.stack.container.jobs.list() == []


@pytest.mark.parametrize("path", ADDRESSES)
def test_what_is_no_json_object(untouched: Served, path: str) -> None:
    for raw in (
        b"",
        b"{",
        b"[]",
        b"null",
        b'"hello"',
        b'{"conversation": "c", "text": NaN}',
        b'{"conversation": "c", "text": "a", "text": "b"}',
        b'{"text": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"conversation": "c", "text": "\xff\xfe"}',
        b"\x00",
        b'{"a": 1e999}',
    ):
        refused(untouched.client.post(path, content=raw, headers=JSON), 400)


@pytest.mark.parametrize("path", ADDRESSES)
def test_other_content_types(untouched: Served, path: str) -> None:
    raw = json.dumps(valid(path)).encode()
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "nonsense",
        "",
    ):
        answer = untouched.client.post(path, content=raw, headers={"Content-Type": kind})
        assert "application/json" in refused(answer, 415)


def test_messages_of_the_wrong_form(untouched: Served) -> None:
    whole: dict[str, Any] = {"conversation": "c", "text": "hello"}
    for change in (
        {"text": 5},
        {"text": None},
        {"text": ["hello"]},
        {"text": {"$gt": ""}},
        {"text": ""},
        {"text": " \n\t"},
        {"conversation": 5},
        {"conversation": ""},
        {"conversation": "a/b"},
        {"conversation": "a\nb"},
        {"conversation": "a\x00b"},
        {"conversation": "x" * 201},
        {"agent": "nobody"},
        {"agent": 1},
        {"id": 1},
        {"id": ""},
        {"id": "x" * 201},
        {"sudo": True},
    ):
        refused(untouched.client.post("/api/chat", json=whole | change), 400)
    for key in whole:
        body = {name: value for name, value in whole.items() if name != key}
        assert key in refused(untouched.client.post("/api/chat", json=body), 400)


@pytest.mark.parametrize("path", ADDRESSES)
def test_more_than_the_files_of_a_request_may_have(untouched: Served, path: str) -> None:
    text = "x" * 40_000_000
    body = {"conversation": "c", "text": text}
    if path != "/api/chat":
        body = {"messages": [{"role": "user", "content": text}]}  # type: ignore[dict-item]  # another form
    try:
        answer = untouched.client.post(path, json=body)
    except (httpx2.WriteError, httpx2.ReadError, httpx2.RemoteProtocolError):
        return  # The server closed before it had read it all: no status can be had then.
    refused(answer, 413)


def test_a_message_over_the_limit_of_messages(untouched: Served) -> None:
    body = {"conversation": "c", "text": "x" * 1_000_001}
    assert "1,000,000" in refused(untouched.client.post("/api/chat", json=body), 400)


def test_a_chunked_body_without_an_end_in_sight(untouched: Served) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"conversation": "c", "text": "'
        for _ in range(100):
            yield b"x" * 500_000

    try:
        answer = untouched.client.post("/api/chat", content=endless(), headers=JSON)
    except (httpx2.WriteError, httpx2.ReadError, httpx2.RemoteProtocolError):
        return
    refused(answer, 413)


def test_a_large_body_without_a_token_is_not_read(untouched: Served) -> None:
    """The answer comes although not one byte of the announced gigabyte was sent."""
    _, _, address = untouched.base_url.partition("://")
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(
            b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n"
            b"Content-Type: application/json\r\n\r\n"
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 401")


def test_an_announced_length_over_the_limit_is_refused_before_it_is_sent(untouched: Served) -> None:
    _, _, address = untouched.base_url.partition("://")
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(
            b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n"
            b"Content-Type: application/json\r\nAuthorization: Bearer "
            + untouched.token.encode()
            + b"\r\n\r\n"
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_a_body_that_does_not_come(untouched: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.bodies._READ_SECONDS", 0.2)
    _, _, address = untouched.base_url.partition("://")
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(
            b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
            b"Content-Type: application/json\r\nAuthorization: Bearer "
            + untouched.token.encode()
            + b'\r\n\r\n{"conversation": "c",'
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 408")


def test_nul_and_lone_surrogates_are_stored_replaced(served: Served) -> None:
    raw = b'{"conversation": "c", "text": "a\\u0000b \\ud800 c", "id": "\\u0000\\udfff"}'
    assert served.client.post("/api/chat", content=raw, headers=JSON).status_code == 202
    rows = served.client.get("/api/chat/c").json()["messages"]
    assert rows[0]["text"] == "a\ufffdb \ufffd c"


def test_a_lone_surrogate_in_a_seed_is_stored_replaced(served: Served) -> None:
    served.stack.start()
    raw = (
        b'{"messages": [{"role": "user", "content": "x\\ud83d"}, {"role": "assistant",'
        b' "content": "y\\u0000"}, {"role": "user", "content": "z"}]}'
    )
    answer = served.client.post("/v1/chat/completions", content=raw, headers=JSON)
    assert answer.json()["choices"][0]["message"]["content"] == "echo: z"


def test_addresses_of_the_wrong_form(untouched: Served) -> None:
    for path in (
        "/api/chat/a%00b",
        "/api/chat/a%0Ab/events",
        "/api/turns/%00",
        "/api/turns/x%27%20OR%201=1",
        "/api/sessions/..%2f..%2fetc",
        "/api/sessions/%ff",
        "/api/chat?limit=0",
        "/api/chat?limit=x",
        "/api/chat?limit=1e99",
        "/api/chat/c?before=-1",
        "/api/chat/c?before=99999999999999999999",
        "/api/chat/c/events?after=x",
        "/api/turns/x?wait=nan",
        "/api/turns/x?wait=1e9",
        "/api/chat?unknown=1",
    ):
        answer = untouched.client.get(path)
        assert answer.status_code in {400, 404}, path
        refused(answer, answer.status_code)


def test_a_last_event_id_that_is_no_number(untouched: Served) -> None:
    for value in ("x", "-1", "1" * 30, "1;2", "\u0661"):
        headers = {b"Last-Event-ID": value.encode()}
        refused(untouched.client.get("/api/chat/c/events", headers=headers), 400)


def test_sessions_that_are_not_there(untouched: Served) -> None:
    for session in ("x", "ses_0", "../..", "x" * 500, "' OR 1=1", "\x7f"):
        answer = untouched.client.post(
            "/v1/chat/completions",
            json=valid("/v1/chat/completions"),
            headers={"X-Habakkuk-Session": session},
        )
        refused(answer, 404)


def test_an_idempotency_key_without_measure(untouched: Served) -> None:
    answer = untouched.client.post(
        "/v1/chat/completions",
        json=valid("/v1/chat/completions"),
        headers={"Idempotency-Key": "k" * 256},
    )
    refused(answer, 400)


def test_unknown_addresses_and_methods(untouched: Served) -> None:
    refused(untouched.client.get("/nothing"), 404)
    refused(untouched.client.get("/v1/nothing"), 404)
    answer = untouched.client.delete("/api/chat")
    refused(answer, 405)
    assert answer.headers["Allow"]


def test_wrong_tokens(untouched: Served) -> None:
    for token in (b"hab_wrong", b"x" * 4000, b"\xe9", untouched.token.upper().encode()):
        answer = httpx2.get(
            f"{untouched.base_url}/api/chat",
            headers={b"Authorization": b"Bearer " + token},
            trust_env=False,
        )
        refused(answer, 401)


def test_a_revoked_token_is_refused_at_once(served: Served) -> None:
    accounts = served.stack.container.accounts
    client = served.new_client(accounts.create_token("other"))
    assert client.get("/api/chat").status_code == 200
    accounts.revoke_token("other")
    assert client.get("/api/chat").status_code == 401


def test_scopes_bound_what_a_token_may_do(served: Served) -> None:
    from habakkuk.accounts.types import Scope

    accounts = served.stack.container.accounts
    reader = served.new_client(accounts.create_token("reader", [Scope.READ]))
    assert reader.get("/api/chat").status_code == 200
    refused(reader.post("/api/chat", json=valid("/api/chat")), 403)
    refused(reader.post("/v1/chat/completions", json=valid("/v1")), 403)
    writer = served.new_client(accounts.create_token("writer", [Scope.CHAT]))
    assert writer.post("/api/chat", json=valid("/api/chat")).status_code == 202
    refused(writer.get("/api/chat"), 403)


def test_guessing_is_slowed_down(served: Served) -> None:
    guesser = served.new_client("hab_wrong")
    answers = [guesser.get("/api/chat") for _ in range(31)]
    assert {a.status_code for a in answers[:30]} == {401}
    refused(answers[30], 429)
    assert answers[30].headers["Retry-After"] == "60"
