"""The line to Discord's gateway, held by discord.py: what it is told, frame by frame.

The library connects, beats, resumes and starts sessions anew; its frames are handed on as they
came, in their order, and read here (wire.py). What they tell is kept nowhere but here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import discord
from discord.http import HTTPClient, Route

from habakkuk.channels.discord.refusals import MAY_NOT_READ, UNKNOWN_BOT
from habakkuk.channels.polling import Unusable
from habakkuk.core.aio import PORTAL
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.trust import trusted

# Why Discord closes a line for good (its reference, "Gateway Close Event Codes").
_CLOSED = {
    4004: UNKNOWN_BOT,
    4010: "Discord wants another number of shards (4010)",
    4011: "the bot is in more servers than one connection may serve (4011); leave some",
    4012: "Discord does not speak this version of its gateway any more (4012): update Habakkuk",
    4013: "Discord does not know what was asked for (4013): update Habakkuk",
    4014: MAY_NOT_READ,
}
_CLOSING_SECONDS = 5.0
# So many frames wait in memory while nothing can be stored. Then the line is left: what comes
# meanwhile is read from the channels' histories, once all that waits is stored.
_MOST_WAITING = 10_000
# What it needs to know that a session stands.
_READ_BY_LIBRARY = ("READY", "RESUMED")


@dataclass(frozen=True)
class Place:
    """Where the gateway is and what is asked of it; None for Discord's own address."""

    api_url: str
    gateway_url: str | None
    message_content: bool


class Gateway:
    """One connection of one bot."""

    def __init__(self, token: str, place: Place) -> None:
        """Connect to nothing yet."""
        self._token = token
        self._place = place
        self._found: SimpleQueue[str | BaseException | None] = SimpleQueue()
        self._closed = threading.Event()

    def frames(self, interrupt: Interrupt) -> Iterator[str]:
        """Yield every frame as it comes. Raises ChannelError, Unusable and Interrupted."""
        held = PORTAL.leave(self._hold())
        try:
            with interrupt.freeing(lambda: self._found.put(None)):
                while True:
                    found = self._found.get()
                    interrupt.check()
                    if isinstance(found, BaseException):
                        raise _failure(found) from found
                    if found is not None:
                        yield found
        finally:
            held.cancel()
            # The next connection should not meet this one.
            self._closed.wait(_CLOSING_SECONDS)

    async def _hold(self) -> None:
        try:
            async with _Client(self._place, self._found) as client:
                await client.start(self._token)
            self._found.put(ChannelError("Discord closed the connection", retryable=True))
        except BaseException as error:
            self._found.put(error)
            raise
        finally:
            self._closed.set()


class _Client(discord.Client):
    """The library's client, which hands on what it is told."""

    def __init__(self, place: Place, found: SimpleQueue[str | BaseException | None]) -> None:
        self._place = place
        self._taken = found
        # It would say in each log that it can neither hear nor speak.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            intents=_intents(place),
            connector=aiohttp.TCPConnector(limit=0, ssl=trusted("discord")),
            enable_debug_events=True,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
        )

    def _get_state(self, **options: Any) -> Any:
        # The one place between the making of its REST client and the first use of it.
        self.http = _Rest(self.loop, options.get("connector"), unsync_clock=True)
        self.http.place = self._place
        state = super()._get_state(**options)
        # All else would be kept in memory, and what is new at Discord would end the line.
        state.parsers = {kind: state.parsers[kind] for kind in _READ_BY_LIBRARY}
        return state

    async def on_socket_raw_receive(self, frame: str) -> None:
        """Hand a frame on; called in the order of the frames."""
        self._taken.put(frame)
        if self._taken.qsize() >= _MOST_WAITING:
            await self.close()


class _Rest(HTTPClient):
    """The library's REST client and connector, at the addresses of an account."""

    place: Place

    async def request(self, route: Route, **named: Any) -> Any:
        route.url = self.place.api_url.rstrip("/") + route.url.removeprefix(Route.BASE)
        return await super().request(route, **named)

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        if self.place.gateway_url is not None:
            url = f"{self.place.gateway_url.rstrip('/')}/?{urlsplit(url).query}"
        return await super().ws_connect(url, compress=compress)


def _intents(place: Place) -> discord.Intents:
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = True
    intents.message_content = place.message_content
    return intents


def _failure(error: BaseException) -> BaseException:
    """Return what the end of a connection means."""
    if isinstance(error, discord.LoginFailure):
        return Unusable(UNKNOWN_BOT)
    if isinstance(error, discord.PrivilegedIntentsRequired):
        return Unusable(MAY_NOT_READ)
    if isinstance(error, discord.ConnectionClosed) and error.code in _CLOSED:
        return Unusable(_CLOSED[error.code])
    if isinstance(error, discord.HTTPException):
        return ChannelError(f"Discord answers HTTP {error.status}", retryable=True)
    if isinstance(error, discord.DiscordException | aiohttp.ClientError | OSError):
        return ChannelError(f"no connection to Discord ({type(error).__name__})", retryable=True)
    return error
