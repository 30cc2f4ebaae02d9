"""Row 18: a name that turns to this machine is no name of this server."""

from __future__ import annotations

import pytest

from tests.security.door import Browser

_STRANGE = ["evil.example", "evil.example:8484", "127.0.0.1.nip.io", "localhost.evil.example"]


@pytest.mark.parametrize("host", _STRANGE)
def test_the_door_answers_for_no_other_host(browser: Browser, host: str) -> None:
    parts = browser.served.stack.container
    link = parts.logins.make_link(parts.accounts.owner())
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert browser.client.get("/login", headers=headers).status_code == 421
    answer = browser.client.post("/api/login/link", json={"secret": link}, headers=headers)
    assert answer.status_code == 421
    browser.sign_in()
    (cookie,) = (f"{one.name}={one.value}" for one in browser.client.cookies.jar)
    answer = browser.client.get("/api/chat", headers={**headers, "Cookie": cookie})
    assert answer.status_code == 421
