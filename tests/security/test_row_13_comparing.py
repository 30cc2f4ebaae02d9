"""Row 13: secrets are compared as bytes; characters beyond ASCII are wrong, not a fault."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.security.door import Browser, Served, serving
from tests.security.posted import SECRET, said, taken

_ROOT = Path(__file__).parents[2]
_ODD = [
    "é",
    "пароль",
    "😀",
    "\x7f",
    "a" * 7000,
    "%00",
    "\\ud83d",
    "' OR 1=1 --",
    "null",
    "undefined",
    "true",
    "0",
    "[]",
    "{}",
    "hab_",
    "hab_é",
    "ｈａｂ_",
    "\u202ehab_",
    "hab_*",
    "hab_%",
    "_",
    "Bearer x",
    "ÿ" * 43,
    "=" * 44,
]
_ACCOUNTS = "channels: {phone: {type: webhook, secret_env: SECRET, allow_from: [alice]}}"
# A comparison of what only its owner knows, by a sign that stops at the first difference.
_LOOSE = re.compile(
    r"(?:secret|token|digest|signature|password|mac|csrf)\w*(?:\(\))? *[!=]= *(?!None|\"\"|'')[a-z]"
)
# Names of things, not what proves anybody: which digest a file has, the kind of a token.
_NAMES = re.compile(r"== self\.digest\b|\btokens\b")


@pytest.fixture
def phone(
    home: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    monkeypatch.setenv("SECRET", SECRET)
    with serving(home, database_url, redis_url, _ACCOUNTS) as running:
        yield running


# Guesses are counted: not more at one server than it looks at.
@pytest.mark.parametrize("odd", [_ODD[:12], _ODD[12:]])
def test_odd_secrets_are_refused_like_any_other(
    served: Served, browser: Browser, odd: list[str]
) -> None:
    for secret in odd:
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


def test_parts_of_a_token_are_no_token(served: Served) -> None:
    """What differs in its first, its last or its length alone."""
    token = served.token
    near = [
        token[:-1],
        token[1:],
        token + "A",
        "A" + token,
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        token.swapcase(),
        token.upper(),
        token * 2,
        f"{token},{token}",
        f"{token} {token}",
        token[::-1],
        base64.b64encode(token.encode()).decode(),
    ]
    client = served.new_client(None)
    for wrong in near:
        answer = client.get("/api/chat", headers={"Authorization": f"Bearer {wrong}"})
        assert answer.status_code == 401, wrong


def test_odd_signatures_are_refused(phone: Served) -> None:
    client = phone.new_client(None)
    good = said().headers()["webhook-signature"]
    odd = ["v1,é", "v1,😀", "v1," + "A" * 7000, "v1,====", "v1,", "v1", ",", "é," + good[3:]]
    odd += ["v1,ÿ" + good[4:], good[:-1] + "é", "v1,\u0391" + good[4:], "v1," + "é" * 44]
    for signature in odd:
        assert said().to(client, webhook_signature=signature).status_code == 401, signature
    assert taken(phone) == 0


def test_nothing_secret_is_compared_by_a_plain_sign() -> None:
    loose = [
        f"{path.relative_to(_ROOT)}:{number}: {line.strip()}"
        for folder in ("habakkuk", "web", "workers")
        for path in sorted((_ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _LOOSE.search(line) and not _NAMES.search(line)
    ]
    assert loose == []
