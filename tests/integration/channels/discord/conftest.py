"""One bot at a fake Discord."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from habakkuk.channels.contract import Account
from habakkuk.channels.discord.adapter import DiscordAdapter
from habakkuk.channels.discord.manifest import DiscordSettings
from habakkuk.channels.discord.poller import DiscordPoller
from habakkuk.core.outside import OutsideHttp
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.listening import Desk, Running
from tests.fakes.stack import until

Bot = Callable[..., DiscordAdapter]
Start = Callable[..., Running]


@pytest.fixture
def discord() -> Iterator[DiscordServer]:
    """A server; at the end everything that it was sent must have been as Discord wants it."""
    with DiscordServer() as server:
        yield server
        assert server.faults == []


@pytest.fixture
def bot(discord: DiscordServer) -> Callable[..., DiscordAdapter]:
    """Make the adapter of an account, with more settings."""

    def make(**more: Any) -> DiscordAdapter:
        token = more.pop("token", TOKEN)
        places = {"api_url": discord.url, "gateway_url": discord.gateway.url}
        settings = DiscordSettings(**{"token_env": "TOKEN"} | places | more)
        return DiscordAdapter(Account("mine", {"TOKEN": token}), settings, OutsideHttp())

    return make


@pytest.fixture
def start(bot: Bot, discord: DiscordServer) -> Iterator[Start]:
    started: list[Running] = []

    def make(desk: Desk | None = None, *, adapter: DiscordAdapter | None = None) -> Running:
        """Start a poller, and wait until it is told of what happens."""
        before = discord.gateway.identified
        made = Running(DiscordPoller(adapter or bot()), desk or Desk())
        started.append(made)
        until(lambda: discord.gateway.identified > before or made.ended)
        return made

    yield make
    for one in started:
        one.stop()
