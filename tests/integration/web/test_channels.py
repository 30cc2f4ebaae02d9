"""The channels page and its API: how accounts are, who asks to come in, what did not arrive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from habakkuk.accounts.types import ROLE_SCOPES, Scope
from habakkuk.conversations.store import outgoing
from habakkuk.conversations.types import Address, Target
from habakkuk.gateway.store import cursors
from habakkuk.gateway.types import Cursor
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.web.served import Served

_ACCOUNTS = """
channels:
  phone: {type: webhook, secret_env: SECRET, allow_from: [alice]}
  bot: {type: telegram, token_env: TOKEN}
"""
_SENDER = "<b>mallory</b>"


@pytest.fixture
def stack(
    home: Path,
    database_url: str,
    redis_url: str,
    model: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    monkeypatch.setenv("SECRET", "whsec_c2VjcmV0IG9mIHRoZSBwaG9uZSBpbiB0ZXN0cw==")
    monkeypatch.setenv("TOKEN", "1234567890:AAbbccddeeffgghhiijjkkllmmnnooppqq")
    made = Stack(home, database_url, redis_url, model, _ACCOUNTS)
    yield made
    made.close()


@pytest.fixture
def code(stack: Stack) -> str:
    """Somebody was told it."""
    address = Address("telegram", "bot", "7")
    stack.container.pairings.knock(address, "7", _SENDER, Target("bot", "7"))
    return str(stack.container.pairings.listed()[0].code)


def _failed(stack: Stack) -> str:
    """A delivery that its platform refused for good; return its job."""
    stack.say("hello", target=Target("phone", "room"))
    with stack.container.database.transaction() as work:
        conversation = stack.container.database.run(text("SELECT id FROM conversations"))[0].id
        outgoing.tell(work, "dl_1", conversation, Target("phone", "room"), "an answer")
    run = stack.container.database.run
    run(text("UPDATE jobs SET state = 'failed', error = 'gone' WHERE id = 'dl_1'"))
    run(text("UPDATE deliveries SET state = 'failed', error = 'gone' WHERE id = 'dl_1'"))
    return "dl_1"


def _owner(served: Served, stack: Stack) -> httpx2.Client:
    """A client that may do everything."""
    return served.new_client(stack.container.accounts.create_token("all", tuple(Scope)))


def _page(served: Served, path: str = "/channels") -> httpx2.Response:
    return served.client.get(path, headers={"Accept": "text/html"})


def test_every_account_says_how_it_is(served: Served) -> None:
    told = served.client.get("/api/channels").json()["channels"]
    assert [(one["name"], one["state"]) for one in told] == [
        ("phone", "webhook"),
        ("bot", "nobody listens"),
    ]
    page = _page(served).text
    assert "nobody listens" in page
    assert "Everything arrived." in page


def test_what_a_platform_does_not_give_out_is_said_with_what_to_do(
    served: Served, stack: Stack
) -> None:
    """It stood in the log alone, where nobody looks."""
    withheld = [
        {"what": f"mail {n}", "since": 1000.0 + n, "why": "it is <broken>", "advice": "delete it"}
        for n in range(7)
    ]
    status = {"state": "listening", "reason": "", "heard": None, "withheld": withheld, "more": 3}
    cursors.save_alone(stack.container.database, "telegram", "bot", Cursor("status", status))
    told = served.client.get("/api/channels").json()["channels"][1]
    assert told["withheld"][0] == withheld[0] | {"since": "1970-01-01T00:16:40Z"}
    assert (len(told["withheld"]), told["withheld_more"]) == (7, 3)
    page = _page(served).text
    assert "mail 4 is not read, noted" in page
    assert "it is &lt;broken&gt;; delete it" in page
    assert "5 more are not read" in page


def test_who_asks_is_let_in_by_their_code(served: Served, stack: Stack, code: str) -> None:
    assert code in _page(served).text
    owner = _owner(served, stack)
    let_in = owner.post("/api/pairings/approve", json={"code": code})
    assert let_in.status_code == 200
    assert stack.container.pairings.holds("telegram", "bot", "7")
    assert owner.post("/api/pairings/approve", json={"code": code}).status_code == 404


def test_a_strangers_name_is_text(served: Served, code: str) -> None:
    assert code
    page = _page(served).text
    assert _SENDER not in page
    assert "&lt;b&gt;mallory" in page


def test_who_was_let_in_is_a_stranger_again_once_revoked(
    served: Served, stack: Stack, code: str
) -> None:
    stack.container.pairings.let_in(code)
    body = {"account": "bot", "sender": "7"}
    assert _owner(served, stack).post("/api/pairings/revoke", json=body).status_code == 200
    assert not stack.container.pairings.holds("telegram", "bot", "7")


def test_what_did_not_arrive_is_shown_and_sent_again(served: Served, stack: Stack) -> None:
    job = _failed(stack)
    told = served.client.get("/api/deliveries").json()["deliveries"]
    assert [(one["id"], one["state"], one["error"]) for one in told] == [(job, "failed", "gone")]
    assert "Send again" in _page(served).text
    assert _owner(served, stack).post(f"/api/jobs/{job}/retry").status_code == 200
    assert served.client.get("/api/deliveries").json()["deliveries"] == []
    assert "pending" in _page(served, "/channels?which=all").text


def test_nonsense_in_the_address_shows_what_there_is_to_look_at(served: Served) -> None:
    assert _page(served, "/channels?which=nonsense").status_code == 200


_OWNERS: list[tuple[str, str, Any]] = [
    ("GET", "/channels", None),
    ("GET", "/api/channels", None),
    ("GET", "/api/pairings", None),
    ("GET", "/api/deliveries", None),
    ("POST", "/api/channels/bot/restart", {}),
    ("POST", "/api/pairings/approve", {"code": "ABCD"}),
    ("POST", "/api/pairings/revoke", {"account": "bot", "sender": "7"}),
]


@pytest.mark.parametrize(("method", "path", "body"), _OWNERS)
def test_it_is_for_the_owner(
    served: Served, stack: Stack, method: str, path: str, body: Any
) -> None:
    accounts = stack.container.accounts
    member = accounts.of_identity("webhook", "phone", "bob", "Bob")
    token = accounts.create_token("bob", tuple(ROLE_SCOPES[member.role]), member)
    client = served.new_client(token)
    assert client.request(method, path, json=body).status_code == 403
