from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.schema import Config
from habakkuk.core.config.settings import Settings
from web.application import trust_proxies
from web.auth.cookie import csrf_matches, csrf_token, give_cookie, session_cookie
from web.auth.origin import check_origin
from web.errors import Refused


def settings(**config: Any) -> Settings:
    environment = read_environment({"HABAKKUK_HOME": "/nowhere"})
    return Settings(
        environment.home, Config(**config), environment, None, None, ("127.0.0.1", 8484), ""
    )


@pytest.fixture
def app() -> Flask:
    return Flask("test")


def given(app: Flask, used: Settings, **request: Any) -> str:
    """Return the Set-Cookie of an answer to a request."""
    with app.test_request_context("/", **request):
        response = app.make_response("")
        give_cookie(response, used, "the-secret")
        return response.headers["Set-Cookie"]


def test_without_tls_the_cookie_is_the_servers_own_by_its_port(app: Flask) -> None:
    sent = given(app, settings())
    assert sent.startswith("habakkuk_8484=the-secret;")
    assert "Secure" not in sent


def test_over_tls_the_cookie_is_secure_and_bound_to_the_host(app: Flask) -> None:
    sent = given(app, settings(), base_url="https://chat.example.org")
    assert sent.startswith("__Host-habakkuk=the-secret;")
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(sent.split("; "))
    assert "Domain" not in sent


def test_a_public_address_with_tls_is_believed_for_its_own_host(app: Flask) -> None:
    used = settings(public_url="https://chat.example.org")
    assert "Secure" in given(app, used, base_url="http://chat.example.org")
    assert "Secure" not in given(app, used, base_url="http://127.0.0.1:8484")


@pytest.mark.parametrize(("hops", "secure"), [(0, False), (1, True)])
def test_a_proxys_word_on_tls_counts_when_it_is_trusted(
    app: Flask, hops: int, secure: bool
) -> None:
    used = settings()

    @app.get("/")
    def view() -> Any:
        response = app.make_response("")
        give_cookie(response, used, "the-secret")
        return response

    if hops:
        trust_proxies(app, hops)
    answer = app.test_client().get("/", headers={"X-Forwarded-Proto": "https"})
    assert ("Secure" in answer.headers["Set-Cookie"]) is secure


def test_an_empty_cookie_is_none(app: Flask) -> None:
    with app.test_request_context("/", headers={"Cookie": "habakkuk_8484="}):
        assert session_cookie(settings()) is None


def test_the_token_of_a_session_is_its_own_and_tells_nothing_of_the_secret() -> None:
    token = csrf_token("one")
    assert csrf_matches("one", token)
    assert not csrf_matches("two", token)
    assert token == csrf_token("one")
    assert "one" not in token


@pytest.mark.parametrize("sent", ["", "x", "é", "😀", "\x00", "\ud83d"])
def test_what_is_no_token_matches_nothing(sent: str) -> None:
    assert not csrf_matches("one", sent)


OWN = "http://localhost:8484"


def refused(app: Flask, method: str, base_url: str = OWN, **headers: str) -> bool:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with app.test_request_context("/", method=method, base_url=base_url, headers=named):
        try:
            check_origin(settings(public_url="https://chat.example.org"))
        except Refused as refusal:
            return refusal.status == 403
        return False


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": OWN},
        {"Origin": "http://LOCALHOST:8484"},
        {"Origin": "https://chat.example.org"},
        {"Sec_Fetch_Site": "same-origin"},
        {"Origin": "null", "Sec_Fetch_Site": "same-origin"},
    ],
)
def test_own_pages_may_write(app: Flask, headers: dict[str, str]) -> None:
    assert not refused(app, "POST", **headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://localhost:8484"},
        {"Origin": "http://localhost"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:8484.evil.example"},
        {"Origin": "http://evil.example", "Sec_Fetch_Site": "same-origin"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "none"},
    ],
)
def test_other_pages_may_not_write(app: Flask, headers: dict[str, str]) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert refused(app, method, **headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": "same-origin"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
    ],
)
def test_pages_are_opened_from_anywhere(app: Flask, headers: dict[str, str]) -> None:
    assert not refused(app, "GET", **headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost:3000"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
    ],
)
def test_other_pages_may_not_read(app: Flask, headers: dict[str, str]) -> None:
    assert refused(app, "GET", **headers)
