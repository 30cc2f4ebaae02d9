"""One bot at a fake Bot API server, and one mailbox at real servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import pytest

from habakkuk.channels.contract import Account
from habakkuk.channels.email.adapter import EmailAdapter
from habakkuk.channels.email.manifest import EmailSettings
from habakkuk.channels.telegram.adapter import TelegramAdapter
from habakkuk.channels.telegram.manifest import TelegramSettings
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.trust import trusted
from tests.fakes.dovecot_server import CERTIFICATE, PASSWORD, Dovecot, dovecot
from tests.fakes.letters import email_account
from tests.fakes.smtp_server import SmtpServer
from tests.fakes.telegram_server import TOKEN, TelegramServer

_NUMBERS = count(1)


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    """A server; at the end everything that it was sent must have been as Telegram wants it."""
    with TelegramServer() as server:
        yield server
        assert server.faults == []


@pytest.fixture
def bot(telegram: TelegramServer) -> Callable[..., TelegramAdapter]:
    """Make the adapter of an account, with more settings."""

    def make(**more: Any) -> TelegramAdapter:
        settings = TelegramSettings(**{"token_env": "TOKEN", "api_url": telegram.url} | more)
        secrets = {"TOKEN": more.pop("token", TOKEN), "HOOK": "a-secret"}
        return TelegramAdapter(Account("mine", secrets), settings, OutsideHttp())

    return make


@pytest.fixture(scope="session")
def imap() -> Iterator[Dovecot]:
    """A server for all tests of a process: each has a mailbox of its own in it."""
    with dovecot() as server:
        yield server


@pytest.fixture
def mailbox(imap: Dovecot) -> str:
    """A mailbox that nothing was ever in."""
    name = f"box{next(_NUMBERS)}"
    imap.make(name)
    return name


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    """A server; at the end everything that it was sent must have been mail."""
    with SmtpServer() as server:
        yield server
        assert server.faults == []


@pytest.fixture
def email_settings(imap: Dovecot, mailbox: str, smtp: SmtpServer) -> Mapping[str, Any]:
    """What an account of these servers is set up with."""
    return {**email_account(imap, smtp), "mailbox": mailbox}


@pytest.fixture
def mail(email_settings: Mapping[str, Any]) -> Callable[..., EmailAdapter]:
    """Make the adapter of an account, with more settings."""

    def make(**more: Any) -> EmailAdapter:
        secrets = {"MAIL_PASSWORD": more.pop("password", PASSWORD)}
        settings = EmailSettings(**{**email_settings, **more})
        return EmailAdapter(Account("mine", secrets), settings, OutsideHttp())

    return make


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trust the certificate of the servers here."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    trusted.cache_clear()
    yield
    trusted.cache_clear()
