"""The door of the channels over HTTP."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.contract.channels.samples.sample import sample_of
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack, until
from tests.integration.web.served import Served

_ACCOUNTS = """
channels:
  phone: {type: webhook, secret_env: SECRET, allow_from: [alice]}
  closed: {type: webhook, secret_env: NO_SECRET}
"""
_SAMPLE = sample_of("webhook")


@pytest.fixture
def stack(
    home: Path,
    database_url: str,
    redis_url: str,
    model: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    for name, value in _SAMPLE.secrets.items():
        monkeypatch.setenv(name, value)
    made = Stack(home, database_url, redis_url, model, _ACCOUNTS)
    yield made
    made.close()


def post(
    served: Served,
    body: bytes | None = None,
    account: str = "phone",
    changed: Mapping[str, str] | None = None,
) -> httpx2.Response:
    raw = _SAMPLE.message("room", "alice", "hello") if body is None else body
    request = _SAMPLE.request("m1", raw)
    named = {**request.headers, **(changed or {})}
    headers = {name.encode(): value.encode() for name, value in named.items()}
    return served.new_client(None).post(f"/channels/{account}", content=raw, headers=headers)


def told(served: Served, message_id: str, **fields: Any) -> dict[str, Any]:
    """Send a message with more fields and return what became of it."""
    body = json.dumps(
        {"chat": "room", "sender": {"id": "alice"}, "text": "hello"} | fields
    ).encode()
    response = served.new_client(None).post(
        "/channels/phone", content=body, headers=dict(_SAMPLE.request(message_id, body).headers)
    )
    assert response.status_code == 202
    (found,) = response.json()["messages"]
    return dict(found)


def error(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, str(response.json()["error"]["message"])


def test_a_message_is_accepted_once_it_is_committed(served: Served) -> None:
    first, again = post(served), post(served)
    assert (first.status_code, again.status_code) == (202, 202)
    (told,) = first.json()["messages"]
    assert told["status"] == "accepted"
    assert again.json()["messages"][0] == {**told, "status": "duplicate"}
    job = served.stack.container.jobs.get(told["turn"])
    assert job is not None


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"webhook-signature": "v1,AAAA"}, 401),
        ({"webhook-signature": "v1,ÿ"}, 401),
        ({"webhook-timestamp": "1"}, 401),
        ({"webhook-id": ""}, 401),
        ({"authorization": "Bearer x"}, 202),
        ({"content-type": "text/plain"}, 202),
    ],
)
def test_the_signature_alone_decides(served: Served, changed: dict[str, str], status: int) -> None:
    assert post(served, changed=changed).status_code == status


def test_a_sender_who_is_not_allowed_is_told(served: Served) -> None:
    status, message = error(post(served, _SAMPLE.message("room", "mallory", "hello")))
    assert status == 403
    assert "allow_from" in message


def test_a_group_is_heard_where_it_addresses_us(served: Served) -> None:
    assert told(served, "m1", group=True, addressed=False)["status"] == "ignored"
    assert told(served, "m2", group=True, addressed=True)["status"] == "accepted"


def test_a_program_is_heard_six_times(served: Served) -> None:
    sender = {"id": "alice", "bot": True}
    found = [told(served, f"m{n}", sender=sender)["status"] for n in range(7)]
    assert found == ["accepted"] * 6 + ["ignored"]


def test_a_message_is_corrected_by_another(served: Served) -> None:
    first = told(served, "m1")
    found = [told(served, f"m{n}", edits="m1", text="better") for n in (2, 2, 3)]
    assert [one["status"] for one in found] == ["accepted", "duplicate", "duplicate"]
    assert {one["id"] for one in found} == {"m1"}
    assert told(served, "m4", edits="m99")["status"] == "ignored"
    served.stack.start()
    turn = served.stack.turn(first["turn"])
    until(lambda: served.stack.turn(turn.id).ended is not None)
    reply = served.stack.container.conversations.reply(served.stack.turn(turn.id))
    assert reply is not None
    assert reply.body == "echo: better"


def test_an_account_that_is_not_there_or_closed(served: Served) -> None:
    assert error(post(served, account="nobody"))[0] == 404
    closed = post(served, account="closed")
    assert error(closed) == (503, "this channel is not set up")
    assert int(closed.headers["retry-after"]) > 0


def test_what_makes_no_sense_is_named(served: Served) -> None:
    status, message = error(post(served, b'{"chat": "c", "sender": {"id": "alice"}}'))
    assert status == 400
    assert message.startswith("text: ")
    assert error(post(served, _SAMPLE.message("room", "alice", " ")))[0] == 400


def test_a_body_over_a_megabyte_is_not_read(served: Served) -> None:
    assert post(served, b"x" * 1_000_001).status_code == 413


def test_bytes_are_signed_as_they_are(served: Served) -> None:
    body = '{ "chat":\t"room","sender":{"id":"alice"},\r\n"text":"\\ud83d ü\\u0000"}'
    assert post(served, body.encode()).status_code in {202, 400}
    spaced = b'{ "text":"x", "sender" : {"id":"alice"},\r\n "chat":"room" }'
    assert post(served, spaced, changed={"webhook-id": "m1"}).status_code == 202


def test_guesses_are_counted_before_they_are_checked(served: Served) -> None:
    answers = [
        post(served, changed={"webhook-signature": _guess(n)}).status_code for n in range(31)
    ]
    assert answers == [401] * 30 + [429]
    assert post(served).status_code == 429


def test_a_source_that_was_good_is_not_held_up_by_a_crowd(served: Served) -> None:
    assert post(served).status_code == 202
    assert {post(served).status_code for _ in range(40)} == {202}


def test_another_host_is_not_answered(served: Served) -> None:
    assert post(served, changed={"host": "evil.example"}).status_code == 421


def _guess(n: int) -> str:
    return "v1," + base64.b64encode(n.to_bytes(32, "big")).decode()
