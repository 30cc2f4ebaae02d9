"""Row 20: a page from elsewhere changes nothing with the cookie of whoever is signed in."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.security.door import Browser, Served

_BODY = {"conversation": "c", "text": "forged"}
# What a browser sends with a form, an image, a fetch without CORS, from there or from next door.
_FORGED: list[dict[str, str]] = [
    {},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://localhost:3000"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
]
_BODIES: list[dict[str, Any]] = [
    {"json": _BODY},
    {"content": b'{"conversation":"c","text":"forged"}', "headers": {"Content-Type": "text/plain"}},
    {"data": _BODY},
    {"files": {"text": ("a.txt", b"forged")}},
    {"content": b""},
]


def messages(browser: Browser) -> int:
    answer = browser.client.get("/api/chat/c")
    return len(answer.json()["messages"]) if answer.status_code == 200 else 0


def test_nothing_from_elsewhere_writes(browser: Browser) -> None:
    browser.sign_in()
    for forged, body in itertools.product(_FORGED, _BODIES):
        headers = {**forged, **body.get("headers", {})}
        rest = {name: value for name, value in body.items() if name != "headers"}
        answer = browser.client.post("/api/chat", headers=headers, **rest)
        assert answer.status_code == 403, (forged, body)
        # Not even with the token, should it have leaked.
        headers["X-CSRF-Token"] = browser.csrf
        answer = browser.client.post("/api/chat", headers=headers, **rest)
        assert answer.status_code == 403, (forged, body)
    assert messages(browser) == 0


@pytest.mark.parametrize("path", ["/api/chat", "/api/chat/c/stop", "/api/logout"])
def test_without_its_token_no_page_writes(browser: Browser, path: str) -> None:
    browser.sign_in()
    for token in ("", "x", "null", "undefined"):
        answer = browser.post(path, {}, X_CSRF_Token=token)
        assert answer.status_code == 403, token
        assert "reload the page" in answer.json()["error"]["message"]
    assert browser.client.get("/api/chat").status_code == 200


def test_the_token_of_another_session_is_none(served: Served, browser: Browser) -> None:
    other = Browser(served)
    for one in (browser, other):
        one.sign_in()
    answer = browser.post("/api/chat", _BODY, X_CSRF_Token=other.csrf)
    assert answer.status_code == 403


def test_a_form_of_our_own_page_is_no_way_in_either(browser: Browser) -> None:
    browser.sign_in()
    headers = {**browser.origin, "X-CSRF-Token": browser.csrf}
    answer = browser.client.post("/api/chat", data=_BODY, headers=headers)
    assert answer.status_code == 415


def test_a_wrong_token_beside_a_good_cookie_is_a_wrong_token(browser: Browser) -> None:
    """Bearer first: who sends one is judged by it, and never falls back to the cookie."""
    browser.sign_in()
    for header in ("Bearer wrong", "Bearer", "Basic b3duZXI6", "x"):
        answer = browser.client.get("/api/chat", headers={"Authorization": header})
        assert answer.status_code == 401
        assert browser.post("/api/chat", _BODY, Authorization=header).status_code == 401
