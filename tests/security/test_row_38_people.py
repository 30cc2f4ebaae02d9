"""Row 38: what belongs to somebody else is not there: the same answer as for what never was."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Principal, Role, Scope, User
from habakkuk.core.errors import HabakkukError
from tests.fakes.pictures import document
from tests.fakes.stack import until
from tests.security.door import Served, serving
from web.application import application

_SECRET = "canary-38-of-the-owner"
_MEMBER = (Scope.CHAT, Scope.READ, Scope.APPROVE)
_ABSENT = "x" * 24
_ASK = f'[[tool clarify {{"questions": [{{"question": "{_SECRET}?"}}]}}]] go'


@dataclass
class House:
    """A server with two people; every id here is one of the owner's things."""

    served: Served
    eve: User
    client: httpx2.Client
    ids: dict[str, str]
    conversation: str

    def alike(self, answer: httpx2.Response, absent: httpx2.Response, mine: str, no: str) -> bool:
        """Whether two answers differ in nothing but the id that was asked for."""
        said = answer.text.replace(mine, "ID"), absent.text.replace(no, "ID")
        return answer.status_code == absent.status_code and said[0] == said[1]


@pytest.fixture
def house(home: Path, database_url: str, redis_url: str) -> Iterator[House]:
    with serving(home, database_url, redis_url) as served:
        stack, accounts = served.stack, served.stack.container.accounts
        stack.container.database.run(
            text("INSERT INTO users (id, name, role) VALUES ('eve', 'eve', 'member')")
        )
        eve = User("eve", "eve", Role.MEMBER)
        client = served.new_client(accounts.create_token("of eve", _MEMBER, eve))
        stack.start()
        pdf = base64.b64encode(document(1)).decode()
        sent = served.send(_SECRET, files=[{"data": pdf, "name": _SECRET}])
        until(lambda: served.client.get(f"/api/turns/{sent['turn']}").json()["state"] == "ended")
        asked = served.send(f"[[tool effect {{}}]] {_SECRET}", "asked", agent="careful")
        until(lambda: stack.container.approvals.open(stack.owner))
        (approval,) = stack.container.approvals.open(stack.owner)
        served.send(_ASK, "clarified")
        until(lambda: stack.container.questions.open(stack.owner))
        (question,) = stack.container.questions.open(stack.owner)
        ids = {
            "question": question.id,
            "session": sent["session"],
            "turn": sent["turn"],
            "approval": approval.id,
            "asked turn": asked["turn"],
            "asked session": asked["session"],
        }
        found = stack.container.conversations.turn(stack.principal, sent["turn"])
        yield House(served, eve, client, ids, found.conversation_id)


def _like(one: str) -> str:
    """Return an id of the same form that there is not."""
    return one[: len(one) - 12] + ("0" * 12 if not one.endswith("0" * 12) else "1" * 12)


def _calls(value: str) -> list[tuple[str, str, dict[str, Any] | None]]:
    return [
        ("GET", f"/api/sessions/{value}", None),
        ("GET", f"/api/sessions/{value}/inspect", None),
        ("PATCH", f"/api/sessions/{value}", {"effort": "low"}),
        ("GET", f"/api/turns/{value}", None),
        ("GET", f"/api/turns/{value}?wait=1", None),
        ("GET", f"/api/turns/{value}/steps", None),
        ("GET", f"/api/turns/{value}/call?call=1", None),
        ("GET", f"/api/turns/{value}/call?call={_ABSENT}", None),
        ("POST", f"/api/turns/{value}/resume", None),
        ("GET", f"/inspect/{value}", None),
        ("POST", f"/api/approvals/{value}", {"answer": "once"}),
        ("POST", f"/api/approvals/{value}", {"answer": "session"}),
        ("POST", f"/api/approvals/{value}", {"answer": "deny"}),
        ("POST", f"/api/jobs/{value}/retry", {}),
        ("POST", f"/api/jobs/{value}/cancel", {}),
        ("GET", f"/api/conversations/{value}", None),
        ("GET", f"/api/conversations/{value}/open", None),
        ("GET", f"/api/conversations/{value}/export", None),
        ("PATCH", f"/api/conversations/{value}", {"title": "hers"}),
        ("DELETE", f"/api/conversations/{value}", None),
        ("POST", f"/api/conversations/{value}/retry", {}),
        ("GET", f"/api/conversations/{value}/messages/1/files/0", None),
        ("PATCH", f"/api/conversations/{value}/messages/1", {"text": "hers"}),
        ("DELETE", f"/api/conversations/{value}/messages/1", None),
        ("GET", f"/api/chat/{value}", None),
        ("POST", f"/api/chat/{value}/stop", {}),
        ("POST", f"/api/chat/{value}/pause", {}),
        ("POST", f"/api/chat/{value}/resume", {}),
        ("POST", f"/api/chat/{value}/steer", {"text": "hers"}),
        ("POST", f"/api/questions/{value}", {"text": "hers"}),
        ("GET", f"/c/{value}", None),
    ]


def test_every_id_of_another_is_answered_like_one_that_is_not(house: House) -> None:
    through = []
    for kind, value in {**house.ids, "conversation": house.conversation}.items():
        other = _like(value)
        for (method, path, body), (_, absent, _) in zip(_calls(value), _calls(other), strict=True):
            mine = house.client.request(method, path, json=body)
            none = house.client.request(method, absent, json=body)
            if not house.alike(mine, none, value, other) or _SECRET in mine.text:
                through.append((kind, method, path, mine.status_code, none.status_code))
    assert through == []
    (approval,) = house.served.stack.container.approvals.open(house.served.stack.owner)
    assert approval.outcome is None
    assert len(house.served.stack.container.questions.open(house.served.stack.owner)) == 1


def test_names_of_conversations_lead_nowhere_else(house: House) -> None:
    owner = house.served.stack.owner.id
    names = ["c", "asked", f"{owner}%2Fc", f"..%2F{owner}%2Fc", f"eve%2F..%2F{owner}%2Fc", "%2e%2e"]
    names += [f"{owner}\\c", f"{owner}:c", "*", "%25", "c%00", "C", "ｃ", "c%20", "_", "c'--"]
    for name in names:
        for _, path, _ in [call for call in _calls(name) if call[0] == "GET"]:
            answer = house.client.get(path)
            assert _SECRET not in answer.text, path
            assert answer.status_code in {200, 400, 403, 404, 308}, path


def test_lists_hold_nothing_of_another(house: House) -> None:
    paths = ["/api/chat", "/api/sessions", "/api/conversations", "/api/approvals", "/api/overview"]
    paths += ["/api/questions"]
    paths += ["/api/usage", "/api/budgets", "/api/models", "/", "/overview", "/usage", "/v1/models"]
    paths += [f"/api/conversations?q={word}" for word in ("canary", "owner", "%25", "_", "*", "'")]
    paths += ["/api/conversations?archived=true", "/api/sessions?limit=100", "/api/chat?limit=100"]
    paths += ["/jobs", "/api/jobs", "/openapi.json", "/channels", "/api/channels"]
    paths += ["/api/pairings", "/api/deliveries"]
    for path in paths:
        answer = house.client.get(path)
        # What a search looked for stands in its own page.
        assert _SECRET not in answer.text, path
        for kind, value in house.ids.items():
            assert value not in answer.text, (path, kind)


def test_no_query_names_another_person(house: House) -> None:
    owner = house.served.stack.owner.id
    for name in ("user", "user_id", "owner", "as", "account", "principal", "on_behalf_of", "all"):
        for path in ("/api/chat", "/api/sessions", "/api/usage", "/api/conversations"):
            answer = house.client.get(path, params={name: owner})
            assert answer.status_code in {200, 400, 403}, (path, name)
            assert _SECRET not in answer.text
            assert house.ids["session"] not in answer.text
    for name in ("X-User", "X-Forwarded-User", "X-Remote-User", "Remote-User", "X-Habakkuk-User"):
        answer = house.client.get("/api/sessions", headers={name: owner})
        assert house.ids["session"] not in answer.text, name


def test_no_stream_tells_of_another(house: House) -> None:
    """The owner's conversation goes on while she listens under its name and its id."""
    served, owner = house.served, house.served.stack.owner.id
    for name in ("c", house.conversation, f"{owner}%2Fc", house.ids["session"]):
        with house.client.stream("GET", f"/api/chat/{name}/events?after=0") as stream:
            if stream.status_code != 200:
                assert stream.status_code in {400, 404}
                continue
            heard = stream.iter_raw()
            first = next(heard)
            served.send(f"{_SECRET} again {name}")
            # A message of her own comes after it on any stream that carries both.
            house.client.post("/api/chat", json={"conversation": name, "text": "mine alone"})
            while b"mine alone" not in first:
                first += next(heard)
            assert _SECRET.encode() not in first, name


def test_no_protocol_goes_on_with_what_is_of_another(house: House) -> None:
    messages = [{"role": "user", "content": "go on"}]
    for value in [*house.ids.values(), house.conversation, "c"]:
        headers = {"X-Habakkuk-Session": value}
        body: dict[str, Any] = {"messages": messages}
        answer = house.client.post("/v1/chat/completions", json=body, headers=headers)
        assert answer.status_code in {400, 404}, value
        assert _SECRET not in answer.text
    for field in ("previous_response_id", "conversation", "session", "thread_id", "user"):
        body = {"messages": messages, field: house.ids["session"]}
        answer = house.client.post("/v1/chat/completions", json=body)
        assert answer.status_code in {200, 400}, field
        assert answer.headers.get("x-habakkuk-session") != house.ids["session"]
        assert _SECRET not in answer.text


def test_a_browser_of_hers_sees_no_more_than_her_token(house: House) -> None:
    served = house.served
    secret = served.stack.container.logins.make_link(house.eve)
    client = served.new_client(None)
    origin = {"Origin": served.base_url}
    answer = client.post("/api/login/link", json={"secret": secret}, headers=origin)
    assert answer.status_code == 200
    for value in house.ids.values():
        for method, path, _ in _calls(value):
            if method == "GET":
                found = client.get(path, headers={"Accept": "text/html"})
                assert _SECRET not in found.text, path
    for path in ("/", "/c/c", "/overview", "/channels", "/jobs", "/usage"):
        assert _SECRET not in client.get(path, headers={"Accept": "text/html"}).text, path


def test_the_services_themselves_ask_whose_it_is(house: House) -> None:
    """Below the routes, where a new surface would forget it."""
    eve, parts = Principal(house.eve, frozenset(Scope)), house.served.stack.container
    session, turn = house.ids["session"], house.ids["turn"]
    tries: list[Callable[[], Any]] = [
        lambda: parts.conversations.session(eve, session),
        lambda: parts.conversations.transcript(eve, session),
        lambda: parts.conversations.turn(eve, turn),
        lambda: parts.approvals.get(house.eve, house.ids["approval"]),
        lambda: parts.inspections().calls(eve, turn),
    ]
    for number, attempt in enumerate(tries):
        try:
            found = attempt()
        except HabakkukError:
            continue
        assert not list(found), number


def test_no_route_was_forgotten(house: House) -> None:
    """Each that names something by an id is among the calls above, or is nobody's own."""
    app = application(house.served.stack.container)
    own = {"/static/<path:name>", "/channels/<account>", "/v1/models/<path:model>"}
    own |= {"/api/chat/<conversation>/events", "/api/channels/<id>/restart"}
    adapter = app.url_map.bind("localhost")
    covered = {
        adapter.match(path.partition("?")[0], method=method, return_rule=True)[0].rule
        for method, path, _ in _calls("x")
    }
    named = {
        rule.rule for rule in app.url_map.iter_rules() if rule.arguments and rule.rule not in own
    }
    assert {rule for rule in named if "openapi" not in rule} <= covered
