"""The session's cookie and what it allows."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Role
from tests.integration.auth.browser import Browser
from tests.integration.web.served import Served, events


def cookie(browser: Browser) -> str:
    (found,) = browser.client.cookies.jar
    return str(found.value)


def test_the_cookie_is_out_of_reach(served: Served, browser: Browser) -> None:
    parts = served.stack.container
    answer = browser.follow(parts.logins.make_link(parts.accounts.owner()))
    name, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert name.startswith("habakkuk_8484=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert "Secure" not in attributes
    assert not any(one.startswith("Domain") for one in attributes)


def test_a_message_is_sent_and_answered(served: Served, browser: Browser) -> None:
    served.stack.start()
    browser.sign_in()
    sent = browser.post("/api/chat", {"conversation": "c", "text": "hello"})
    assert sent.status_code == 202
    turn = browser.client.get(f"/api/turns/{sent.json()['turn']}?wait=20").json()
    assert turn["state"] == "ended"


def test_a_stream_comes_with_the_cookie(served: Served, browser: Browser) -> None:
    browser.sign_in()
    browser.post("/api/chat", {"conversation": "c", "text": "hello"})
    with browser.client.stream("GET", "/api/chat/c/events") as response:
        assert response.status_code == 200
        first = next(event for event in events(response) if event.data)
    assert first.json["text"] == "hello"


def test_a_stream_ends_with_its_session(
    served: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.auth.lasting._LOOK_SECONDS", 0.1)
    monkeypatch.setattr("web.api.stream._LOOK_SECONDS", 0.1)
    browser.sign_in()
    browser.post("/api/chat", {"conversation": "c", "text": "hello"})
    with browser.client.stream("GET", "/api/chat/c/events") as response:
        lines = response.iter_lines()
        next(lines)
        served.stack.container.logins.sign_out_everywhere(served.stack.owner)
        # It would go on for ever.
        assert [line for line in lines if line.startswith("event: nothing")] == []


def test_signing_out_ends_the_session(served: Served, browser: Browser) -> None:
    browser.sign_in()
    before = cookie(browser)
    answer = browser.post("/api/logout", {})
    assert answer.json() == {"signed_out": True}
    assert not browser.client.cookies
    browser.client.cookies.set("habakkuk_8484", before)
    assert browser.client.get("/api/chat").status_code == 401


def test_other_browsers_stay_signed_in(served: Served, browser: Browser) -> None:
    other = Browser(served)
    for one in (browser, other):
        one.sign_in()
    browser.post("/api/logout", {})
    assert other.client.get("/api/chat").status_code == 200


def test_signing_out_everywhere_ends_them_and_unused_links(
    served: Served, browser: Browser
) -> None:
    parts = served.stack.container
    other, member = Browser(served), Browser(served)
    for one in (browser, other):
        one.sign_in()
    member.sign_in(parts.accounts.add("mary"))
    unused = parts.logins.make_link(parts.accounts.owner())
    browser.post("/api/logout", {"everywhere": True})
    assert other.client.get("/api/chat").status_code == 401
    assert Browser(served).follow(unused).status_code == 401
    assert member.client.get("/api/chat").status_code == 200


def test_a_token_cannot_sign_out(served: Served) -> None:
    answer = served.client.post("/api/logout", json={})
    assert answer.status_code == 400
    assert "tokens revoke" in answer.json()["error"]["message"]


def test_a_session_ends_thirty_days_after_its_last_use(served: Served, browser: Browser) -> None:
    database = served.stack.container.database
    browser.sign_in()
    age = text("""
        UPDATE web_sessions SET created = created - make_interval(days => :days),
        seen = seen - make_interval(days => :days), expires = expires - make_interval(days => :days)
    """)
    for _ in range(2):
        database.run(age, days=29)
        assert browser.client.get("/api/chat").status_code == 200
    database.run(age, days=30)
    assert browser.client.get("/api/chat").status_code == 401


def test_a_session_lasts_ninety_days_at_most(served: Served, browser: Browser) -> None:
    database = served.stack.container.database
    browser.sign_in()
    age = text("""
        UPDATE web_sessions SET created = created - make_interval(days => :days),
        seen = seen - make_interval(days => :days), expires = expires - make_interval(days => :days)
    """)
    for _ in range(3):
        database.run(age, days=25)
        assert browser.client.get("/api/chat").status_code == 200
    database.run(age, days=15)
    assert browser.client.get("/api/chat").status_code == 401


def test_a_removed_person_is_out_at_once(served: Served, browser: Browser) -> None:
    accounts = served.stack.container.accounts
    browser.sign_in(accounts.add("mary"))
    accounts.remove("mary")
    assert browser.client.get("/api/chat").status_code == 401


@pytest.mark.parametrize(("role", "status"), [(Role.MEMBER, 202), (Role.VIEWER, 403)])
def test_a_role_says_what_a_session_allows(
    served: Served, browser: Browser, role: Role, status: int
) -> None:
    browser.sign_in(served.stack.container.accounts.add("mary", role))
    assert browser.client.get("/api/chat").status_code == 200
    sent = browser.post("/api/chat", {"conversation": "c", "text": "hello"})
    assert sent.status_code == status
    assert browser.post("/api/logout", {}).status_code == 200


def test_a_changed_role_counts_from_the_next_request(served: Served, browser: Browser) -> None:
    accounts = served.stack.container.accounts
    browser.sign_in(accounts.add("mary"))
    accounts.set_role("mary", Role.VIEWER)
    sent = browser.post("/api/chat", {"conversation": "c", "text": "hello"})
    assert sent.status_code == 403


def test_a_second_person_sees_none_of_the_first(served: Served, browser: Browser) -> None:
    browser.sign_in()
    browser.post("/api/chat", {"conversation": "mine", "text": "a secret"})
    other = Browser(served)
    other.sign_in(served.stack.container.accounts.add("eve"))
    assert "a secret" not in other.open("/").text
    assert other.client.get("/api/chat").json()["conversations"] == []
    assert other.client.get("/api/chat/mine").status_code == 404


def test_pages_lead_to_the_login_page_and_back(browser: Browser) -> None:
    answer = browser.open("/c/mine?x=1&y=2")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/login?next=/c/mine%3Fx%3D1%26y%3D2"
    shown = browser.open(answer.headers["Location"])
    assert 'data-next="/c/mine?x=1&amp;y=2"' in shown.text


def test_the_first_page_needs_no_way_back(browser: Browser) -> None:
    assert browser.open("/").headers["Location"] == "/login"


def test_programs_get_no_login_page(browser: Browser) -> None:
    for path in ("/api/chat", "/v1/models"):
        answer = browser.open(path)
        assert answer.status_code == 401
        assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "next_page",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        " //evil.example",
        "/" + "x" * 3000,
        '/"><script>alert(1)</script>',
    ],
)
def test_the_way_back_stays_here(browser: Browser, next_page: str) -> None:
    answer = browser.client.get("/login", params={"next": next_page})
    assert answer.status_code == 200
    assert "evil.example" not in answer.text
    assert "<script>alert" not in answer.text
