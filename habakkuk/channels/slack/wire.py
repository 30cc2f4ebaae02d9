"""What Slack tells, by Socket Mode or over HTTP, read into events.

A message is known by its channel and its time stamp there; its id here is `<team>:<channel>:<ts>`,
so that what comes again, or as two events (`message` and `app_mention`), is one (case K11).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.messages import (
    Edit,
    Event,
    InboundMessage,
    Press,
    RemoteFile,
    Removal,
    Source,
)
from habakkuk.channels.slack import mrkdwn, shares

# Each may be a question to Slack, during which nothing else is read; the others keep their ids.
_MOST_NAMES = 20
_TS = re.compile(r"\d+\.\d+")
_READ = {"message", "app_mention"}
# What people and programs say; every other subtype is a note of Slack's, such as who joined.
_SAID = {"", "file_share", "thread_broadcast", "me_message", "bot_message", "slackbot_response"}
# Notes and answers that Slack writes by itself.
_SLACKBOT = "USLACKBOT"
# Files that do not lie at Slack, or not any more.
_ELSEWHERE = {
    "external": "a file that does not lie at Slack",
    "tombstone": "a file that was deleted",
    "hidden_by_limit": "a file that Slack hides",
}


class Known(Protocol):
    """What a reader has to know beside what it reads. Each raises ChannelError."""

    def bot(self) -> str:
        """Return the user id of the bot."""

    def name(self, user: str) -> str:
        """Return what a user is called, nothing where that cannot be told."""

    def speaks_in(self, channel: str, thread: str) -> bool:
        """Say whether the bot has written in a thread, or was mentioned at its start."""

    def written(self, own: str) -> str:
        """Return what a channel or a user, by Slack's id, is called here."""

    @property
    def team(self) -> str:
        """The workspace's id; empty for the account's own."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _File(_Part):
    id: str = Field(min_length=1)
    name: str | None = None
    mimetype: str | None = None
    size: int | None = None
    mode: str = ""


class _Message(_Part):
    type: str = "message"
    subtype: str = ""
    channel: str = ""
    channel_type: str | None = None
    ts: str = ""
    thread_ts: str | None = None
    parent_user_id: str | None = None
    user: str | None = None
    bot_id: str | None = None
    app_id: str | None = None
    text: str | None = None
    files: list[_File] = []
    attachments: list[Any] = []
    edited: dict[str, Any] | None = None
    message: _Message | None = None
    previous_message: _Message | None = None

    @property
    def said(self) -> str:
        return self.text or ""


class _Authorization(_Part):
    user_id: str = ""
    is_bot: bool = False


class _Callback(_Part):
    team_id: str
    event: _Message
    api_app_id: str = ""
    authorizations: list[_Authorization] = []


class _Id(_Part):
    id: str


class _Presser(_Id):
    name: str = ""


class _Container(_Part):
    channel_id: str
    message_ts: str
    thread_ts: str | None = None


class _Action(_Part):
    type: str = ""
    action_ts: str = Field(min_length=1)
    value: str | None = None


class _Actions(_Part):
    user: _Presser
    team: _Id | None = None
    container: _Container
    actions: list[_Action]


class _Command(_Part):
    command: str = Field(pattern=r"^/\S+$")
    text: str = ""
    user_id: str = Field(min_length=1)
    user_name: str = ""
    channel_id: str = Field(min_length=1)
    channel_name: str = ""
    team_id: str = ""
    trigger_id: str = Field(min_length=1)


class _Typed(_Part):
    type: str = ""


class _Outer(_Typed):
    event: _Typed = _Typed()


@dataclass(frozen=True)
class Reader:
    """Reads what Slack tells one app; `known` is what it knows of a workspace, by its id."""

    known: Callable[[str], Known]

    def events(self, payload: Mapping[str, Any]) -> Sequence[Event]:
        """Return what a payload tells. Raises WebhookUnreadable, and ChannelError to come again."""
        try:
            return self._events(payload)
        except ValidationError as error:
            raise WebhookUnreadable(_fault(error)) from None

    def _events(self, payload: Mapping[str, Any]) -> Sequence[Event]:
        if "command" in payload:
            command = _Command.model_validate(payload)
            return [_command(command, self.known(command.team_id))]
        outer = _Outer.model_validate(payload)
        if outer.type == "block_actions":
            pressed = _Actions.model_validate(payload)
            return _presses(pressed, self.known(pressed.team.id if pressed.team else ""))
        if outer.type == "event_callback" and outer.event.type in _READ:
            callback = _Callback.model_validate(payload)
            found = _Reading(self.known(callback.team_id), callback).event()
            return [] if found is None else [found]
        if not outer.type and "ssl_check" not in payload:
            raise WebhookUnreadable("the body is nothing that Slack sends")
        return []

    def past(self, team: str, channel: str, messages: Sequence[Any]) -> Sequence[Event]:
        """Return what the messages of a channel's history tell, in their order."""
        found: list[Event] = []
        for message in messages:
            event = {**message, "type": "message", "channel": channel}
            try:
                found += self.events({"type": "event_callback", "team_id": team, "event": event})
            except WebhookUnreadable:
                continue
        return found


@dataclass(frozen=True)
class _Reading:
    """One event about a message."""

    known: Known
    callback: _Callback

    def event(self) -> Event | None:
        event = self.callback.event
        if event.subtype == "message_changed":
            return self._changed(event)
        if event.subtype == "message_deleted":
            return self._removal(event.previous_message)
        if event.subtype not in _SAID or not event.ts or not event.channel:
            return None
        return self._message(event)

    def _message(self, event: _Message) -> InboundMessage | None:
        files, unread = self._files(event.files)
        shared = shares.read(event.attachments, self._names())
        if not event.said.strip() and not files and not unread and not shared:
            return None
        sender = event.user or event.bot_id or ""
        source = self._source(event)
        person = source is Source.PERSON
        return InboundMessage(
            id=self._id(event),
            chat=self.known.written(event.channel),
            sender=self.known.written(sender),
            text=shares.below(self._plain(event), shared),
            thread=self._thread(event),
            sender_name=self.known.name(sender) if person else "",
            group=self._group,
            addressed=not self._group or (source is not Source.OWN and self._addressed(event)),
            source=source,
            unread=(*unread, *shared.unread),
            files=files,
            outside=bool(shared),
        )

    def _changed(self, event: _Message) -> Event | None:
        now, before = event.message, event.previous_message
        if now is None:
            return None
        if now.subtype == "tombstone":
            # What was deleted and has answers below it.
            return self._removal(before)
        same = before is not None and before.said == now.said
        person = now.user is not None and self._source(now) is Source.PERSON
        # Slack changes messages too, as when it adds a look at a page.
        if now.edited is None or same or not person:
            return None
        return Edit(
            id=self._id(now),
            chat=self.known.written(event.channel),
            sender=self.known.written(now.user or ""),
            text=shares.below(self._plain(now), shares.read(now.attachments, self._names())),
            thread=self._thread(now),
        )

    def _removal(self, gone: _Message | None) -> Removal | None:
        if gone is None or not gone.ts:
            return None
        sender = self.known.written(gone.user or gone.bot_id or "")
        chat = self.known.written(self.callback.event.channel)
        return Removal(self._id(gone), chat, sender, self._thread(gone))

    def _id(self, message: _Message) -> str:
        return message_id(self.callback.team_id, self.callback.event.channel, message.ts)

    @property
    def _bot(self) -> str:
        found = (one.user_id for one in self.callback.authorizations if one.is_bot)
        return next(found, "") or self.known.bot()

    @property
    def _group(self) -> bool:
        event = self.callback.event
        return event.channel_type != "im" and not event.channel.startswith("D")

    def _thread(self, message: _Message) -> str:
        """Return the thread; in a channel every message opens one, that of its answer."""
        if message.thread_ts:
            return message.thread_ts
        return message.ts if self._group else ""

    def _source(self, message: _Message) -> Source:
        mine = self.callback.api_app_id
        if message.user == self._bot or (mine and message.app_id == mine):
            return Source.OWN
        if message.user == _SLACKBOT or message.subtype == "slackbot_response":
            return Source.AUTOMATIC
        if message.bot_id or message.subtype == "bot_message":
            return Source.BOT
        return Source.PERSON if message.user else Source.AUTOMATIC

    def _addressed(self, event: _Message) -> bool:
        if event.type == "app_mention" or mrkdwn.mentions(event.said, self._bot):
            return True
        if not event.thread_ts or event.thread_ts == event.ts:
            return False
        if event.parent_user_id == self._bot:
            return True
        return self.known.speaks_in(event.channel, event.thread_ts)

    def _files(self, sent: Sequence[_File]) -> tuple[tuple[RemoteFile, ...], tuple[str, ...]]:
        team = {"team": self.known.team} if self.known.team else {}
        files = tuple(
            RemoteFile(one.name or one.id, one.mimetype or "", one.size, {"id": one.id} | team)
            for one in sent
            if one.mode not in _ELSEWHERE
        )
        return files, tuple(_ELSEWHERE[one.mode] for one in sent if one.mode in _ELSEWHERE)

    def _plain(self, message: _Message) -> str:
        text = mrkdwn.without_address(message.said, self._bot)
        return mrkdwn.plain(text, self._names())

    def _names(self) -> Callable[[str], str]:
        """Return what asks for names: of people whom one message mentions, so many at most."""
        asked: set[str] = set()

        def name(user: str) -> str:
            if len(asked) < _MOST_NAMES:
                asked.add(user)
            return self.known.name(user) if user in asked else ""

        return name


def message_id(team: str, channel: str, ts: str) -> str:
    """Return the id of a message here."""
    return f"{team}:{channel}:{ts}"


def message_ts(known: str | None, chat: str) -> str | None:
    """Return a message's time stamp; None when the id is not one of that chat, or a command's."""
    place, _, ts = (known or "").rpartition(":")
    return ts if _TS.fullmatch(ts) and place.rpartition(":")[2] == chat else None


def _presses(told: _Actions, known: Known) -> Sequence[Press]:
    place, team = told.container, told.team.id if told.team else ""
    message = message_id(team, place.channel_id, place.message_ts)
    return [
        Press(
            id=f"{message}:{action.action_ts}:{told.user.id}",
            chat=known.written(place.channel_id),
            sender=known.written(told.user.id),
            data=action.value,
            message=message,
            thread=place.thread_ts or "",
            sender_name=told.user.name,
        )
        for action in told.actions
        if action.type == "button" and action.value is not None
    ]


def _command(told: _Command, known: Known) -> InboundMessage:
    """Return a slash command as what was written: it has no time stamp, and is brought once."""
    text = mrkdwn.plain(f"{told.command} {told.text}".strip(), str)
    return InboundMessage(
        id=message_id(told.team_id, told.channel_id, f"command-{told.trigger_id}"),
        chat=known.written(told.channel_id),
        sender=known.written(told.user_id),
        text=text,
        sender_name=told.user_name,
        group=not told.channel_id.startswith("D"),
    )


def _fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, fault["loc"])) or "the body"
    return f"{place}: {fault['msg']}"
