"""One bot at a fake Bot API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from habakkuk.channels.contract import Account
from habakkuk.channels.telegram.adapter import TelegramAdapter
from habakkuk.channels.telegram.manifest import TelegramSettings
from habakkuk.core.outside import OutsideHttp
from tests.fakes.telegram_server import TOKEN, TelegramServer


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
