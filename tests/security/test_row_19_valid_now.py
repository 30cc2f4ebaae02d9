"""Row 19: a credential is checked for what it is now, on every request."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import text

from habakkuk.bootstrap import Container
from tests.security.door import Browser, Served

_SECRETS = ["", "x", "undefined", "null", "true", "Bearer", "hab_", "*"]


def test_being_there_is_not_being_right(served: Served) -> None:
    client = served.new_client(None)
    for secret in _SECRETS:
        for headers in (
            {"Authorization": f"Bearer {secret}".strip()},
            {"Cookie": f"habakkuk_8484={secret}"},
        ):
            assert client.get("/api/chat", headers=headers).status_code == 401, headers


def test_a_revoked_token_that_was_just_used_is_out(served: Served) -> None:
    assert served.client.get("/api/chat").status_code == 200
    served.stack.container.accounts.revoke_token("test")
    assert served.client.get("/api/chat").status_code == 401


def _sign_out(parts: Container) -> None:
    parts.logins.sign_out_everywhere(parts.accounts.find("mary"))


def _change_password(parts: Container) -> None:
    parts.logins.set_password(parts.accounts.find("mary"), "a new one of words")


def _remove(parts: Container) -> None:
    parts.accounts.remove("mary")


def _expire(parts: Container) -> None:
    parts.database.run(text("UPDATE web_sessions SET expires = now()"))


@pytest.mark.parametrize("change", [_sign_out, _change_password, _remove, _expire])
def test_a_session_that_ended_is_out_at_once(
    browser: Browser, change: Callable[[Container], None]
) -> None:
    parts = browser.served.stack.container
    browser.sign_in(parts.accounts.add("mary"))
    assert browser.client.get("/api/chat").status_code == 200
    change(parts)
    assert browser.client.get("/api/chat").status_code == 401
    assert browser.post("/api/chat", {"conversation": "c", "text": "x"}).status_code == 401
