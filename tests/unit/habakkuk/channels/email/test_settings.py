"""What an account is set up with, and what is refused before anything connects."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from habakkuk.channels.contract import Account
from habakkuk.channels.email.adapter import EmailAdapter
from habakkuk.channels.email.manifest import EmailSettings
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.outside import OutsideHttp

_NEEDED = {
    "imap_host": "imap.example.org",
    "smtp_host": "smtp.example.org",
    "user": "u",
    "password_env": "P",
    "address": "hab@example.org",
}


def _settings(**more: Any) -> EmailSettings:
    return EmailSettings(**{**_NEEDED, **more})


def test_lines_are_safe_by_default() -> None:
    settings = _settings()
    assert (settings.imap_port, settings.imap_tls) == (993, "tls")
    assert (settings.smtp_port, settings.smtp_tls) == (465, "tls")
    assert (settings.check_sender, settings.checker) == (True, None)


@pytest.mark.parametrize("host", ["imap.gmail.com", "IMAP.gmail.com"])
def test_who_checks_senders_is_known_of_the_large_ones(host: str) -> None:
    assert _settings(imap_host=host).checker == "mx.google.com"
    assert _settings(imap_host=host, trusted_authserv="mine.example").checker == "mine.example"


@pytest.mark.parametrize(
    "more",
    [
        {"imap_tls": "none"},
        {"smtp_tls": "none"},
        {"smtp_tls": "ssl"},
        {"imap_port": 0},
        {"smtp_port": 65536},
        {"address": "Hab <hab@example.org>"},
        {"address": "hab@example.org\r\nBcc: x@y.z"},
        {"address": "häb@example.org"},
        {"user": "a\r\nb"},
        {"password_env": "the password itself"},
        {"unknown": 1},
    ],
)
def test_what_would_be_unsafe_or_nothing_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _settings(**more)


def test_the_password_goes_in_clear_within_this_machine_alone() -> None:
    assert _settings(imap_host="127.0.0.1", imap_tls="none").imap_tls == "none"


@pytest.mark.parametrize("password", ["", "a\r\nb", "pässword", "a\x00"])
def test_a_password_that_no_server_takes_is_said_to_be_so(password: str) -> None:
    with pytest.raises(ConfigurationError, match=r"channels\.mine|variable P") as caught:
        EmailAdapter(Account("mine", {"P": password}), _settings(), OutsideHttp())
    assert not password or password not in str(caught.value)


def test_an_account_is_told_apart_by_server_user_and_mailbox() -> None:
    made = [
        EmailAdapter(Account("mine", {"P": "x"}), _settings(**more), OutsideHttp()).identity
        for more in ({}, {"user": "v"}, {"imap_host": "other.example"}, {"mailbox": "Other"})
    ]
    assert len(set(made)) == 4
