"""Row 22: who writes is the platform's own id, to the letter: no name, no slug, no room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from habakkuk.accounts.types import Role
from tests.security.door import Served, serving
from tests.security.posted import SECRET, Post, named, said, taken

_ACCOUNTS = """
channels:
  phone: {type: webhook, secret_env: SECRET, allow_from: ["bob", "4711", "Группа", "@carol"]}
  tablet: {type: webhook, secret_env: SECRET, allow_from: ["bob"]}
  everybody: {type: webhook, secret_env: SECRET, allow_from: ["*"]}
  nobody: {type: webhook, secret_env: SECRET}
"""
# Ids of somebody else, which a careless comparison takes for one that is allowed.
_LIKE = [
    "Bob",
    "BOB",
    "bob!",
    "bob ",
    " bob",
    "bob\n",
    "bob\t",
    "\tbob",
    "bob\u200b",
    "\ufeffbob",
    "bob\u00a0",
    "b\u043eb",
    "ｂｏｂ",
    "bo\u0300b",
    "bob\u0000",
    "bob\u202e",
    "bobby",
    "xbob",
    "bob,eve",
    "bob|eve",
    "bob/eve",
    "bob@evil.example",
    "webhook:bob",
    "phone/bob",
    "phone:bob",
    "@bob",
    "#bob",
    "bob#0001",
    "b*",
    "b%",
    "b.b",
    "^bob$",
    "[bob]",
    '"bob"',
    "*",
    "**",
    "?",
    ".*",
    "04711",
    "4711.0",
    "+4711",
    "4711 ",
    "0x1267",
    "４７１１",
    "carol",
    "＠carol",
    "группа",
    "Гpyппa",
    "owner",
    "admin",
    "root",
    "system",
    "null",
    "None",
    "undefined",
    "true",
    "room",
    "allow_from",
]
# A sender is an id; these are none.
_NO_IDS: list[Any] = [None, 4711, 4711.0, True, ["bob"], {"id": "bob"}, "", 0, [], {}]
# An allowed id in every other place of the message.
_ELSEWHERE: list[Post] = [
    said(sender={"id": "eve", "name": "bob"}),
    said(sender={"id": "eve", "username": "bob", "display_name": "bob"}),
    said(sender={"id": "eve", "name": "bob", "role": "owner", "verified": True}),
    said(sender={"id": "eve"}, chat="bob"),
    said(sender={"id": "eve"}, thread="bob"),
    said(sender={"id": "eve"}, user="bob", allow_from=["eve"]),
    said(sender={"id": "eve"}, account="tablet", channel="web"),
    said("from: bob", sender={"id": "eve"}),
]


@pytest.fixture
def served(
    home: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    monkeypatch.setenv("SECRET", SECRET)
    with serving(home, database_url, redis_url, _ACCOUNTS) as running:
        yield running


def test_who_is_like_an_allowed_one_is_somebody_else(served: Served) -> None:
    client = served.new_client(None)
    posts = [said(sender=sender) for sender in _LIKE]
    posts += [said(sender={"id": odd}) for odd in _NO_IDS]
    posts += [Post(post.body.replace(b'"room"', b'"bob"')) for post in posts[:5]]
    through = [
        (post.body, answer.status_code)
        for number, post in enumerate(posts + _ELSEWHERE)
        if (answer := named(post, number).to(client)).status_code not in {400, 403}
    ]
    assert through == []
    assert taken(served) == 0
    assert [person.user.name for person in served.stack.container.accounts.people()] == ["owner"]


def test_a_body_that_names_two_senders_is_of_neither_or_of_one_who_may(served: Served) -> None:
    """JSON with a key twice: readers differ, so nothing else may read the body than we do."""
    client = served.new_client(None)
    twice = [
        b'{"chat": "room", "sender": {"id": "bob"}, "sender": {"id": "eve"}, "text": "x"}',
        b'{"chat": "room", "sender": {"id": "bob", "id": "eve"}, "text": "x"}',
        b'{"chat": "room", "sender": {"id": "bob", "\\u0069d": "eve"}, "text": "x"}',
    ]
    for number, body in enumerate(twice):
        assert named(Post(body), number).to(client).status_code in {400, 403}, body
    assert taken(served) == 0


def test_with_nobody_allowed_nobody_writes(served: Served) -> None:
    client = served.new_client(None)
    for number, sender in enumerate(["bob", "*", "alice", "owner", "nobody"]):
        post = Post(said(sender=sender).body, f"m{number}", account="nobody")
        assert post.to(client).status_code == 403, sender
    assert taken(served) == 0


def test_alike_names_are_different_people(served: Served) -> None:
    """Everybody calls themselves owner; the ids tell them apart, to the letter."""
    client = served.new_client(None)
    ids = [*dict.fromkeys(one for one in _LIKE if "\0" not in one), "bob"]
    for number, sender in enumerate(ids):
        post = said(sender={"id": sender, "name": "owner"})
        answer = Post(post.body, f"m{number}", account="everybody").to(client)
        assert answer.status_code == 202, sender
    people = served.stack.container.accounts.people()
    assert len(people) == 1 + len(ids)
    assert [person.user.role for person in people].count(Role.OWNER) == 1
    assert len({person.user.name for person in people}) == len(people)


def test_an_id_of_one_account_is_nobody_in_another(served: Served) -> None:
    client = served.new_client(None)
    for account in ("phone", "tablet", "everybody"):
        assert Post(said(sender="bob").body, account=account).to(client).status_code == 202
    assert len(served.stack.container.accounts.people()) == 4


def test_a_null_character_in_an_id_is_no_fault(served: Served) -> None:
    client = served.new_client(None)
    posts = [
        said(sender="bob\0"),
        said(sender={"id": "x", "name": "\0"}),
        said("a\0b", sender="x1"),
        said(sender="x2", chat="room\0"),
        said(sender="x3", thread="\0"),
        said(sender="x4\ud800"),
    ]
    for number, post in enumerate(posts):
        answer = Post(post.body, f"m{number}", account="everybody").to(client)
        assert answer.status_code in {202, 400}, post.body
