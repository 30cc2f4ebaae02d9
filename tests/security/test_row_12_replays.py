"""Row 12: the same message is the same, however its signature is written; old ones are refused."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.security.door import Served, serving
from tests.security.posted import SECRET, Post, said, taken

_ACCOUNTS = """
channels:
  phone: {type: webhook, secret_env: SECRET, allow_from: [alice]}
  other: {type: webhook, secret_env: OTHER, allow_from: [alice]}
"""
_OTHER_KEY = b"a key that both sides of another"
_STALE = [301, 302, 600, 3600, 86_400, 1_000_000_000, -302, -600, -3600, -86_400, -900_000_000]


@pytest.fixture
def served(
    home: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    monkeypatch.setenv("SECRET", SECRET)
    monkeypatch.setenv("OTHER", "whsec_" + base64.b64encode(_OTHER_KEY).decode())
    with serving(home, database_url, redis_url, _ACCOUNTS) as running:
        yield running


def _rewritten(headers: dict[str, str]) -> list[dict[str, str]]:
    """Return the same signature in other clothes."""
    value = headers["webhook-signature"]
    mac = value.removeprefix("v1,")
    digest = base64.b64decode(mac)
    # The last character before the padding holds two bits that no decoder has to look at.
    slack = mac[:-2] + chr(ord(mac[-2]) + 1) + "="
    written = [
        value,
        "v1," + base64.urlsafe_b64encode(digest).decode(),
        "v1," + base64.urlsafe_b64encode(digest).decode().rstrip("="),
        "v1," + mac.rstrip("="),
        "v1," + mac + "=",
        "v1," + slack,
        "v1," + digest.hex(),
        "v1," + mac.lower(),
        "V1," + mac,
        "v1=" + mac,
        "v1a," + mac,
        f"{value} {value}",
        f"v1,AAAA {value}",
        f"{value} v1,AAAA",
        f"v2,{mac} {value}",
        f"v1a,{mac} {value} v1,",
        f"{value},{mac}",
        mac,
    ]
    return [{"webhook_signature": one} for one in written]


def test_a_replay_makes_no_second_message(served: Served) -> None:
    """Taken as the same or refused: never a second one."""
    client, post = served.new_client(None), said()
    first = post.to(client)
    assert first.json()["messages"][0]["status"] == "accepted"
    headers = post.headers()
    for changed in _rewritten(headers):
        answer = post.to(client, **changed)
        if answer.status_code == 202:
            assert answer.json()["messages"][0]["status"] == "duplicate", changed
        else:
            assert answer.status_code in {401, 429}, changed
    assert taken(served) == 1


def test_the_same_id_with_another_body_is_the_same_message(served: Served) -> None:
    client = served.new_client(None)
    assert said().to(client).status_code == 202
    for words in ("hello ", "HELLO", "another", "yes", "/new"):
        answer = said(words).to(client)
        assert answer.json()["messages"][0]["status"] == "duplicate", words
    assert taken(served) == 1


@pytest.mark.parametrize("age", _STALE)
def test_what_is_old_or_of_the_future_is_refused(served: Served, age: int) -> None:
    client = served.new_client(None)
    post = replace(said(), age=age)
    headers = post.headers()
    answer = post.to(client, webhook_timestamp=headers["webhook-timestamp"])
    assert answer.status_code == 401
    assert taken(served) == 0


def test_a_time_or_an_id_that_is_not_the_signed_one_is_refused(served: Served) -> None:
    client, post = served.new_client(None), said()
    now = post.headers()["webhook-timestamp"]
    times = [
        f"0{now}",
        f"+{now}",
        f"-{now}",
        f"{now}.0",
        f"{now}e0",
        f"{now} 1",
        hex(int(now)),
        "".join(chr(0x660 + int(digit)) for digit in now),
        f"{now[:1]}_{now[1:]}",
        "9" * 400,
        "now",
        "",
        "nan",
        f"{now}, {now}",
    ]
    ids = ["m2", "m1 m1", "M1", "m1.", ".m1", f"m1.{now}", "", "m1\u200b", "m1%00", "m1,m1"]
    changes = [{"webhook_timestamp": one} for one in times] + [{"webhook_id": one} for one in ids]
    through = [
        changed for changed in changes if post.to(client, **changed).status_code not in {401, 429}
    ]
    assert through == []
    assert taken(served) == 0


def test_a_part_of_the_request_cannot_move_into_another(served: Served) -> None:
    """An id that ends with a time is signed like a shorter one, but its body makes no sense."""
    client = served.new_client(None)
    post = said()
    now = post.headers()["webhook-timestamp"]
    longer = replace(post, id=f"m1.{now}", body=b"x" + post.body).headers()
    sent = replace(post, body=f"{now}.x".encode() + post.body)
    answer = sent.to(client, webhook_signature=longer["webhook-signature"])
    assert answer.status_code == 400
    assert taken(served) == 0


def test_one_account_proves_nothing_for_another(served: Served) -> None:
    client = served.new_client(None)
    assert replace(said(), account="other").to(client).status_code == 401
    assert replace(said(), key=_OTHER_KEY).to(client).status_code == 401
    assert taken(served) == 0


@pytest.mark.parametrize("length", [500, 501, 3000, 20_000])
def test_a_long_id_is_taken_once_or_refused(served: Served, length: int) -> None:
    client = served.new_client(None)
    post: Post = replace(said(), id="i" * length)
    statuses = [post.to(client).status_code for _ in range(3)]
    assert set(statuses) <= {202, 400, 401, 413, 431}, statuses
    assert taken(served) <= 1
