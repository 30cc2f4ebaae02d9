"""A link lets one browser in, once, within ten minutes; its secret is nowhere but in the link."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from habakkuk.accounts.logins import Opened
from tests.integration.auth.browser import Browser
from tests.integration.jobs.bench import in_threads
from tests.integration.web.served import Served


def link(served: Served) -> str:
    parts = served.stack.container
    return parts.logins.make_link(parts.accounts.owner())


def test_a_link_lets_its_person_in(served: Served, browser: Browser) -> None:
    answer = browser.follow(link(served))
    assert (answer.status_code, answer.json()) == (200, {"user": "owner", "role": "owner"})
    assert browser.open("/").status_code == 200
    assert browser.client.get("/api/chat").status_code == 200


def test_a_link_works_once(served: Served, browser: Browser) -> None:
    secret = link(served)
    browser.follow(secret)
    other = Browser(served)
    answer = other.follow(secret)
    assert answer.status_code == 401
    assert "login-link" in answer.json()["error"]["message"]
    assert other.client.get("/api/chat").status_code == 401


def test_of_many_browsers_with_one_link_one_comes_in(served: Served) -> None:
    secret = link(served)
    logins = served.stack.container.logins
    opened: list[Opened | None] = []
    in_threads(8, lambda _: opened.append(logins.by_link(secret)))
    assert sum(one is not None for one in opened) == 1


def test_a_link_is_good_for_ten_minutes(served: Served) -> None:
    logins, database = served.stack.container.logins, served.stack.container.database
    age = text("UPDATE login_links SET expires = expires - make_interval(secs => :seconds)")
    young = link(served)
    database.run(age, seconds=590)
    assert logins.by_link(young) is not None
    old = link(served)
    database.run(age, seconds=600)
    assert logins.by_link(old) is None


@pytest.mark.parametrize("secret", ["", "x", "é😀", "\x00", "A" * 200])
def test_what_is_no_link_lets_nobody_in(browser: Browser, secret: str) -> None:
    assert browser.follow(secret).status_code == 401
    assert not browser.client.cookies


def test_no_secret_is_stored(served: Served) -> None:
    parts = served.stack.container
    secret = link(served)
    opened = parts.logins.by_link(secret)
    assert opened is not None
    rows = parts.database.run(
        text("SELECT l::text AS l, s::text AS s FROM login_links l, web_sessions s")
    )
    for kept in (secret, opened.secret):
        for form in (kept, kept.encode().hex()):
            assert form not in f"{rows[0].l}{rows[0].s}"


def test_old_links_do_not_pile_up(served: Served) -> None:
    database = served.stack.container.database
    link(served)
    database.run(text("UPDATE login_links SET expires = now() - interval '2 days'"))
    link(served)
    assert database.run(text("SELECT count(*) FROM login_links"))[0][0] == 1


def test_a_new_login_ends_the_browsers_session_before_it(served: Served, browser: Browser) -> None:
    browser.sign_in()
    browser.sign_in()
    database = served.stack.container.database
    assert database.run(text("SELECT count(*) FROM web_sessions"))[0][0] == 1


def test_another_page_cannot_sign_a_browser_in(served: Served, browser: Browser) -> None:
    """Login CSRF: who comes in as somebody else tells them what they say."""
    secret = link(served)
    for origin in ("http://127.0.0.1:1", "null"):
        answer = browser.post("/api/login/link", {"secret": secret}, Origin=origin)
        assert answer.status_code == 403
    assert browser.follow(secret).status_code == 200
