"""Row 16: no secret in an address, a referrer or a log."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from habakkuk.ops.login import link_address
from tests.security.door import Browser, Served


@pytest.mark.parametrize("name", ["token", "secret", "key", "api_key", "access_token", "Secret"])
def test_a_secret_in_an_address_opens_nothing(served: Served, name: str) -> None:
    client = served.new_client(None)
    answer = client.get("/api/chat", params={name: served.token})
    assert answer.status_code == 401
    headers = {"Authorization": f"Bearer {served.token}"}
    assert client.get("/api/chat", params={name: "x"}, headers=headers).status_code == 401


def test_a_links_secret_is_never_sent_by_following_it(served: Served) -> None:
    parts = urlsplit(link_address(served.stack.container.settings, "the-secret"))
    assert (parts.path, parts.query, parts.fragment) == ("/login", "", "the-secret")


def test_a_look_at_a_link_does_not_use_it_up(served: Served, browser: Browser) -> None:
    """Chat programs and mail filters fetch every link that they see."""
    parts = served.stack.container
    secret = parts.logins.make_link(parts.accounts.owner())
    for _ in range(3):
        assert browser.client.get(f"/login#{secret}").status_code == 200
    assert browser.follow(secret).status_code == 200


def test_the_logs_know_no_secret(
    served: Served, browser: Browser, capfd: pytest.CaptureFixture[str]
) -> None:
    parts = served.stack.container
    link = parts.logins.make_link(parts.accounts.owner())
    browser.follow(link)
    browser.follow(link)
    browser.open("/")
    browser.post("/api/login/password", {"name": "owner", "password": "the wrong words"})
    browser.post("/api/chat", {"conversation": "c", "text": "hello"}, Origin="http://evil.example")
    (cookie,) = (str(one.value) for one in browser.client.cookies.jar)
    out, err = capfd.readouterr()
    assert "route=/api/login/link" in out + err
    for secret in (link, cookie, browser.csrf, "the wrong words"):
        assert secret not in out + err


def test_pages_name_themselves_to_nobody(browser: Browser) -> None:
    browser.sign_in()
    for path in ("/", "/login"):
        assert browser.open(path).headers["Referrer-Policy"] == "no-referrer"
