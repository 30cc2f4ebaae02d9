"""Nothing is reached without a token, under another host's name or from another page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from flask import Flask
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from habakkuk.accounts.types import Principal, Role, Scope, User
from web.application import trust_proxies
from web.guards import OPEN, SIGNED_IN, needed
from web.throttle import Attempt, Throttle

OPEN_ROUTES = {
    "/healthz",
    "/static/<path:name>",
    "/login",
    "/api/login/link",
    "/api/login/password",
    # Proved by the platform's signature.
    "/channels/<account>",
}
# Signing out is for everybody who came in, whatever they may do.
SIGNED_IN_ROUTES = {"/api/logout"}


def routes(app: Flask) -> Iterator[tuple[Rule, str, str]]:
    for rule in app.url_map.iter_rules():
        path = rule.rule.replace("<conversation>", "c").replace("<id>", "x")
        path = path.replace("<path:model>", "m").replace("<path:name>", "icons.svg")
        path = path.replace("<account>", "phone").replace("<number>", "0")
        path = path.replace("<turn>", "x")
        assert "<" not in path, f"give {rule.rule} an example here"
        for method in sorted(rule.methods or ()):
            yield rule, method, path


def refusal(answer: TestResponse) -> str:
    """Return the one sentence of an error."""
    error = answer.get_json()["error"]
    assert set(error) in ({"type", "message"}, {"type", "message", "param", "code"})
    assert "\n" not in error["message"]
    return str(error["message"])


def test_every_view_says_who_may_call_it(app: Flask) -> None:
    marks = {rule.rule: needed(app.view_functions[rule.endpoint]) for rule, _, _ in routes(app)}
    assert {rule for rule, mark in marks.items() if mark == OPEN} == OPEN_ROUTES
    assert {rule for rule, mark in marks.items() if mark == SIGNED_IN} == SIGNED_IN_ROUTES
    others = marks.keys() - OPEN_ROUTES - SIGNED_IN_ROUTES
    assert {type(marks[rule]) for rule in others} == {Scope}


def test_whatever_writes_needs_the_scope_for_writing(app: Flask) -> None:
    for rule, method, _ in routes(app):
        if method not in {"GET", "HEAD", "OPTIONS"}:
            assert needed(app.view_functions[rule.endpoint]) is not Scope.READ, rule.rule


def test_every_route_but_health_needs_a_token(app: Flask) -> None:
    seen = 0
    for rule, method, path in routes(app):
        if rule.rule in OPEN_ROUTES:
            continue
        answer = app.test_client().open(path, method=method)
        assert answer.status_code == 401, (method, path)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        if method != "HEAD":
            assert "tokens create NAME" in refusal(answer)
        seen += 1
    assert seen > 10


def test_an_unknown_address_needs_a_token_too(app: Flask) -> None:
    assert app.test_client().get("/nothing").status_code == 401


@pytest.mark.parametrize(
    "header", ["Basic dXNlcjpwYXNz", "Token abc", "Bearer", "Bearer ", "hab_abc", "bearer"]
)
def test_other_credentials_are_refused(app: Flask, header: str) -> None:
    answer = app.test_client().get("/api/chat", headers={"Authorization": header})
    assert answer.status_code == 401


@pytest.mark.parametrize("name", ["token", "access_token", "api_key", "Token"])
def test_a_token_in_the_address_is_refused(app: Flask, name: str) -> None:
    answer = app.test_client().get(
        f"/api/chat?{name}=hab_abc", headers={"Authorization": "Bearer hab_abc"}
    )
    assert answer.status_code == 401
    assert "logs" in refusal(answer)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8484", "localhost.evil.example", "127.0.0.1.nip.io", ""]
)
def test_no_route_answers_for_another_host(app: Flask, host: str) -> None:
    for _, method, path in routes(app):
        answer = app.test_client().open(path, method=method, headers={"Host": host})
        assert answer.status_code == 421, (method, path)


def test_a_forwarded_host_changes_nothing(app: Flask) -> None:
    headers = {
        "Host": "evil.example",
        "X-Forwarded-Host": "localhost",
        "Forwarded": "host=localhost",
    }
    assert app.test_client().get("/api/chat", headers=headers).status_code == 421


def test_other_pages_are_refused(app: Flask) -> None:
    answer = app.test_client().get("/api/chat", headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403


def test_errors_under_v1_have_openais_shape(app: Flask) -> None:
    error = app.test_client().get("/v1/models").get_json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "authentication_error"


def test_every_answer_carries_the_headers_of_safety(app: Flask) -> None:
    answer = app.test_client().get("/api/chat")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_the_web_process_loads_no_model_sdk_no_worker_and_no_http_client() -> None:
    program = (
        "import sys, web.application\n"
        "print({'openai', 'anthropic', 'celery', 'workers', 'httpx2', 'anyio'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_the_package_alone_loads_no_flask() -> None:
    program = "import sys, web; print('flask' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_view_without_a_mark_is_never_reached(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Principal(User("u", "owner", Role.OWNER), frozenset(Scope))
    monkeypatch.setattr("web.health.Health.require_schema", lambda self: None)
    monkeypatch.setattr("habakkuk.accounts.service.Accounts.authenticate", lambda self, _: owner)
    app.add_url_rule("/forgotten", "forgotten", lambda: "reached")
    answer = app.test_client().get("/forgotten", headers={"Authorization": "Bearer hab_x"})
    assert answer.status_code == 403


def test_a_proxys_word_on_the_clients_address_counts_when_it_is_trusted(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = []

    def attempt(_: Throttle, source: str, secret: str) -> Attempt:
        sources.append(source)
        return Attempt(source, secret.encode())

    monkeypatch.setattr("web.health.Health.require_schema", lambda self: None)
    monkeypatch.setattr("web.throttle.Throttle.attempt", attempt)
    monkeypatch.setattr("habakkuk.accounts.service.Accounts.authenticate", lambda self, _: None)
    headers = {"Authorization": "Bearer x", "X-Forwarded-For": "198.51.100.7"}
    app.test_client().get("/api/chat", headers=headers)
    trust_proxies(app, 1)
    app.test_client().get("/api/chat", headers=headers)
    assert sources == ["127.0.0.1", "198.51.100.7"]
