"""Listening at the gateway, and reading what was missed (cases: K2, K6, K8, K85).

Each frame is stored before the next is looked at. A session that goes on is told what it missed by
Discord. When a new one begins, the channels that have something newer than what is stored are
read, each before its first new message is taken: so all come in their order.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from pydantic import ValidationError

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.discord import commands, refusals, wire
from habakkuk.channels.discord.adapter import DiscordAdapter
from habakkuk.channels.discord.around import Around, Channel, Guild
from habakkuk.channels.discord.client import Answer, Refused
from habakkuk.channels.discord.gateway import Gateway, Place
from habakkuk.channels.discord.ids import made_at
from habakkuk.channels.discord.places import Stored
from habakkuk.channels.messages import Event
from habakkuk.channels.outcomes import Lost
from habakkuk.channels.polling import ChannelPoller, Door, Unusable
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger

_log = get_logger("channels.discord")
_DISPATCH = 0
_DIRECT_GROUP = 3
_PAGE = 100
# Stands among the servers that are awaited while chats with one person are read.
_DIRECT = "@me"
# What a session is told again is known by its id; so much is told at most.
_MOST_KNOWN = 5000
_MOST_TRIES = 5
_RETRY_SECONDS = 2.0


class DiscordPoller(ChannelPoller):
    """Listens for one bot."""

    # Discord wants a beat every 41 s and answers it.
    silence: ClassVar[float] = 120.0

    adapter: DiscordAdapter

    def run(self, door: Door, interrupt: Interrupt) -> None:
        """Listen until it fails or is interrupted."""
        try:
            answer = self.adapter.client.call("GET", "/users/@me", interrupt=interrupt)
            me = wire.user(answer.body)
        except Refused as refused:
            if refused.status == refusals.NO_TOKEN:
                raise Unusable(refusals.UNKNOWN_BOT) from None
            raise _not_now(refused) from None
        except Lost as lost:
            raise _not_now(lost) from None
        except ValidationError:
            raise ChannelError("what answers is not Discord", retryable=True) from None
        door.alive()
        now = answer.time or time.time()
        stored = Stored.read(door.cursor(), me.id)
        if stored is None:
            # At once: who dies before a first message is stored would begin behind it.
            stored = Stored.begun(me.id, now)
            self.hand_over(partial(door.pass_over, stored.written()), interrupt)
        listening = _Listening(self.adapter, door, interrupt, stored)
        settings = self.adapter.settings
        place = Place(settings.api_url, settings.gateway_url, settings.message_content)
        for raw in Gateway(self.adapter.token, place).frames(interrupt):
            door.alive()
            listening.take(raw)


class _Listening:
    """One run of a poller."""

    def __init__(
        self, adapter: DiscordAdapter, door: Door, interrupt: Interrupt, stored: Stored
    ) -> None:
        self._adapter = adapter
        self._door = door
        self._interrupt = interrupt
        self._stored = stored
        self._around = Around(stored.bot)
        self._reader = wire.Reader(self._around)
        # The messages of late by their ids, with who wrote them: of a deletion that is not told.
        self._known: OrderedDict[str, str] = OrderedDict()
        # Servers that this session has not told of yet, and the channels that were read for it.
        self._awaited: set[str] = set()
        self._read: set[str] = set()
        # What is newer is handed over; what is newer than the other was stored, and is compared.
        self._after = self._looked_through = 0
        self._acts = {
            "READY": self._ready,
            "GUILD_CREATE": self._guild,
            "GUILD_DELETE": self._guild_gone,
            "MESSAGE_CREATE": self._created,
            "MESSAGE_UPDATE": self._updated,
            "MESSAGE_DELETE": self._deleted,
            "MESSAGE_DELETE_BULK": self._deleted,
            "INTERACTION_CREATE": self._pressed,
        }

    def take(self, raw: str) -> None:
        """Take one frame; one that cannot be read holds nothing up."""
        frame = wire.frame(raw)
        if frame is None or frame.op != _DISPATCH or not isinstance(frame.d, dict):
            return
        act = self._acts.get(frame.t or "")
        try:
            if act is not None:
                act(frame.d)
            else:
                self._around.learn(frame.t or "", frame.d)
        except (WebhookUnreadable, ValidationError) as error:
            _log.error("an event cannot be read", kind=frame.t, reason=_short(error))

    # What begins a session.

    def _ready(self, data: Mapping[str, Any]) -> None:
        self._after = self._stored.after(time.time())
        self._looked_through = self._stored.looked_through(self._after)
        self._awaited = {Guild.model_validate(one).id for one in data.get("guilds", [])} | {_DIRECT}
        self._read.clear()
        for chat in self._stored.direct:
            self._catch_up(chat, group=False)
        self._awaited.discard(_DIRECT)

    def _guild(self, data: Mapping[str, Any]) -> None:
        guild = Guild.model_validate(data)
        if guild.unavailable:
            return
        channels: Iterable[Channel] = list(self._around.guild(guild))
        for channel in channels:
            if channel.last > self._looked_through:
                self._catch_up(channel.id, group=True)
        self._awaited.discard(guild.id)

    def _guild_gone(self, data: Mapping[str, Any]) -> None:
        guild = Guild.model_validate(data)
        if not guild.unavailable:
            self._awaited.discard(guild.id)

    def _catch_up(self, chat: str, *, group: bool) -> None:
        """Read what a channel has that is not stored, once a session."""
        if chat in self._read:
            return
        self._read.add(chat)
        after, found = self._looked_through, True
        while found:
            page = self._page(chat, after)
            found = len(page) == _PAGE
            for data in page:
                try:
                    sent = wire.message(data)
                except WebhookUnreadable as error:
                    _log.error("a message cannot be read", chat=chat, reason=_short(error))
                    continue
                after = max(after, int(sent.id))
                self._past(sent, group=group)
            # Of what is stored no more than a page is compared.
            after = max(after, self._after)

    def _past(self, sent: wire.Message, *, group: bool) -> None:
        """Take a message of the past; what of it is stored may have been changed since."""
        if int(sent.id) > self._after:
            self._message(sent, group=group)
        else:
            self._know(sent)
        if sent.changed_at >= made_at(self._after):
            self._change(sent)

    def _page(self, chat: str, after: int) -> list[object]:
        path = f"/channels/{chat}/messages?after={after}&limit={_PAGE}"
        for last in [False] * (_MOST_TRIES - 1) + [True]:
            try:
                answer = self._adapter.client.call("GET", path, interrupt=self._interrupt)
            except Refused as refused:
                if refusals.is_for_good(refused):
                    # A channel that the bot may not read, that is gone, or that holds no messages.
                    _log.info("a channel is not read", chat=chat, reason=refusals.said(refused))
                    return []
                if last:
                    raise _not_now(refused) from None
                self._interrupt.wait(refused.retry_after or _RETRY_SECONDS)
            except Lost as lost:
                if last:
                    raise _not_now(lost) from None
                self._interrupt.wait(_RETRY_SECONDS)
            else:
                return self._listed(answer)
            self._interrupt.check()
        return []

    def _listed(self, answer: Answer) -> list[object]:
        self._door.alive()
        return list(wire.history(answer.body))

    # What happens in it.

    def _created(self, data: Mapping[str, Any]) -> None:
        sent = wire.message(data)
        direct = sent.guild_id is None
        if direct or sent.guild_id in self._awaited:
            # Written before the session began, and not told of yet.
            self._catch_up(sent.channel_id, group=not direct)
        self._message(sent, group=not direct or sent.channel_type == _DIRECT_GROUP)

    def _message(self, sent: wire.Message, *, group: bool) -> None:
        if sent.id in self._known:
            return
        stored = self._stored
        if not group:
            stored = stored.with_direct(sent.channel_id)
        if not self._awaited:
            # Until all servers are read, older messages of some may be missing.
            stored = stored.passed(int(sent.id))
        self._stored = stored
        event = self._reader.message(sent, group=group)
        if event is not None:
            self._store(event, stored.written())
        self._know(sent)

    def _know(self, sent: wire.Message) -> None:
        self._known[sent.id] = sent.author.id
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def _updated(self, data: Mapping[str, Any]) -> None:
        self._change(wire.message(data))

    def _change(self, sent: wire.Message) -> None:
        edit = self._reader.edit(sent)
        if edit is not None:
            self._store(edit, None)

    def _deleted(self, data: Mapping[str, Any]) -> None:
        for removal in wire.removals(data):
            self._store(replace(removal, sender=self._known.get(removal.id, "")), None)

    def _pressed(self, data: Mapping[str, Any]) -> None:
        picked = commands.called(data)
        if picked is not None:
            if not picked.message.group:
                self._stored = self._stored.with_direct(picked.message.chat)
            self._store(picked.message, self._stored.written())
            self._adapter.took(picked)
            return
        pressed = wire.press(data)
        if pressed is not None:
            self._adapter.keep(pressed)
            self._store(pressed.press, None)

    def _store(self, event: Event, cursor: Mapping[str, Any] | None) -> None:
        """Hand an event over, as often as it takes."""
        ChannelPoller.hand_over(partial(self._door.take, event, cursor), self._interrupt)


def _not_now(error: Refused | Lost) -> ChannelError:
    told = refusals.not_done(error)
    return ChannelError(str(told), retryable=True, retry_after=told.retry_after)


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0]
