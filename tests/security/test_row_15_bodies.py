"""Row 15: what is open to all takes little, and what is not takes nothing before it knows who."""

from __future__ import annotations

import pytest

from tests.security.door import Browser, Served


@pytest.mark.parametrize("path", ["/api/login/link", "/api/login/password"])
def test_the_door_takes_no_large_body(browser: Browser, path: str) -> None:
    limit = browser.served.stack.container.settings.config.http.max_body_bytes
    headers = {**browser.origin, "Content-Type": "application/json"}
    answer = browser.client.post(path, content=b" " * (limit + 1), headers=headers)
    assert answer.status_code == 413
    long = "x" * 100_000
    for body in ({"secret": long}, {"name": long, "password": long}):
        assert browser.post(path, body).status_code == 400


@pytest.mark.parametrize("path", ["/api/login/link", "/api/login/password", "/api/logout"])
def test_the_door_takes_json_alone(browser: Browser, path: str) -> None:
    browser.sign_in()
    headers = {**browser.origin, "X-CSRF-Token": browser.csrf}
    for more in (
        {"data": {"secret": "x"}},
        {"files": {"secret": ("a.txt", b"x")}},
        {"content": b'{"secret":"x"}', "headers": {"Content-Type": "text/plain", **headers}},
    ):
        given = {"headers": headers, **more}
        assert browser.client.post(path, **given).status_code == 415  # type: ignore[arg-type] # three forms


def test_a_stranger_is_turned_away_before_the_body(served: Served) -> None:
    """The body would be refused with 413: that it was not looked at shows in the 401."""
    limit = served.stack.container.settings.config.http.max_body_bytes
    client = served.new_client(None)
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "habakkuk_8484=wrong"}):
        answer = client.post(
            "/api/chat",
            content=b" " * (limit + 1),
            headers={"Content-Type": "application/json", **headers},
        )
        assert answer.status_code in {401, 403}
