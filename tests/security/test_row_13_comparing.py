"""Row 13: secrets are compared as bytes; characters beyond ASCII are wrong, not a fault."""

from __future__ import annotations

import httpx2

from tests.security.door import Browser, Served

_ODD = ["é", "пароль", "😀", "\x7f", "a" * 7000, "%00", "\\ud83d", "' OR 1=1 --"]


def test_odd_secrets_are_refused_like_any_other(served: Served, browser: Browser) -> None:
    for secret in _ODD:
        _refused_everywhere(served.new_client(None), browser, secret)


def _refused_everywhere(client: httpx2.Client, browser: Browser, secret: str) -> None:
    raw = secret.encode()
    answer = client.get("/api/chat", headers={b"Authorization": b"Bearer " + raw})
    assert answer.status_code == 401
    answer = client.get("/api/chat", headers={b"Cookie": b"habakkuk_8484=" + raw})
    assert answer.status_code == 401
    assert browser.post("/api/login/link", {"secret": secret[:200]}).status_code == 401
    body = {"name": secret[:200], "password": secret[:1000]}
    assert browser.post("/api/login/password", body).status_code == 401


def test_odd_csrf_tokens_are_refused(browser: Browser) -> None:
    browser.sign_in()
    origin = browser.served.base_url.encode()
    for token in _ODD:
        answer = browser.client.post(
            "/api/chat",
            json={"conversation": "c", "text": "hello"},
            headers={b"Origin": origin, b"X-CSRF-Token": token.encode()},
        )
        assert answer.status_code == 403, token
