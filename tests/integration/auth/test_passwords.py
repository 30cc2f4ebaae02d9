"""Passwords: optional, slow to guess, and one answer for every way of being wrong."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Role
from habakkuk.core.errors import Invalid
from tests.integration.auth.browser import Browser
from tests.integration.web.served import Served

WORD = "correct horse battery"


@pytest.fixture
def mary(served: Served) -> str:
    parts = served.stack.container
    parts.logins.set_password(parts.accounts.add("mary"), WORD)
    return WORD


def enter(browser: Browser, name: str, password: str) -> int:
    answer = browser.post("/api/login/password", {"name": name, "password": password})
    if answer.status_code == 401:
        assert answer.json()["error"]["message"] == "the name or the password is wrong"
    return answer.status_code


def test_a_password_lets_its_person_in(browser: Browser, mary: str) -> None:
    assert enter(browser, " mary ", mary) == 200
    assert browser.client.get("/api/chat").status_code == 200


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("mary", "wrong horse battery"),
        ("mary", ""),
        ("mary", WORD + " "),
        ("mary", WORD.upper()),
        ("nobody", WORD),
        ("owner", WORD),
        ("owner", ""),
        ("", ""),
        ("ma\x00ry", WORD),
        ("mary", "\x00"),
    ],
)
def test_everything_else_gets_one_answer(
    browser: Browser, mary: str, name: str, password: str
) -> None:
    assert enter(browser, name, password) == 401
    assert not browser.client.cookies


def test_a_password_in_any_script(served: Served, browser: Browser) -> None:
    parts = served.stack.container
    parts.logins.set_password(parts.accounts.owner(), "пароль из слов 😀")
    assert enter(browser, "owner", "пароль из слов 😀") == 200


@pytest.mark.parametrize("word", ["", "eleven char", "x" * 1001])
def test_a_password_has_twelve_characters_at_least(served: Served, word: str) -> None:
    parts = served.stack.container
    with pytest.raises(Invalid, match="12 to 1000 characters"):
        parts.logins.set_password(parts.accounts.owner(), word)


def test_only_a_slow_hash_is_stored(served: Served, mary: str) -> None:
    rows = served.stack.container.database.run(
        text("SELECT u::text AS everything, password FROM users u WHERE name = 'mary'")
    )
    assert rows[0].password.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert WORD not in rows[0].everything


def test_the_form_asks_for_a_password_when_somebody_has_one(
    served: Served, browser: Browser
) -> None:
    assert 'type="password"' not in browser.open("/login").text
    parts = served.stack.container
    parts.logins.set_password(parts.accounts.owner(), WORD)
    assert 'type="password"' in browser.open("/login").text
    parts.logins.set_password(parts.accounts.owner(), None)
    assert 'type="password"' not in browser.open("/login").text


def test_a_new_password_signs_out_and_ends_links(served: Served, browser: Browser) -> None:
    parts = served.stack.container
    user = parts.accounts.add("vera", Role.VIEWER)
    browser.sign_in(user)
    link = parts.logins.make_link(user)
    parts.logins.set_password(user, WORD)
    assert browser.client.get("/api/chat").status_code == 401
    assert browser.follow(link).status_code == 401
    assert enter(browser, "vera", WORD) == 200
    parts.logins.set_password(user, None)
    assert browser.client.get("/api/chat").status_code == 401
    assert enter(browser, "vera", WORD) == 401
