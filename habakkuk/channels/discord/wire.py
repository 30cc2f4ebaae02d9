"""What Discord tells, read into events.

A message's id is its own everywhere. A thread is a channel of its own, so it is a chat of its own
here, and `thread` is never set. Messages of the gateway and of a channel's history look alike, but
for the server, which only the gateway names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.discord.around import Around
from habakkuk.channels.discord.readable import Names, readable
from habakkuk.channels.messages import (
    Edit,
    InboundMessage,
    Press,
    RemoteFile,
    Removal,
    Source,
)

# Kinds of messages that somebody wrote: all others are notes of the platform.
_WRITTEN = {0, 19, 20, 23}
_FORWARD = 1
_DIRECT_GROUP = 3
_COMPONENT = 3
_BUTTON = 2
_VOICE = 1 << 13
# Message Content Intent of an application, in a hundred servers or more and in fewer.
_READS = 1 << 18 | 1 << 19
_FORWARDED = "Forwarded:"


_Model = TypeVar("_Model", bound=BaseModel)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Member(_Part):
    nick: str | None = None


class User(_Part):
    """Somebody; `member` has what a server calls them."""

    id: str
    username: str = ""
    global_name: str | None = None
    bot: bool = False
    system: bool = False
    member: _Member | None = None

    @property
    def name(self) -> str:
        """What people see."""
        nick = self.member.nick if self.member else None
        return nick or self.global_name or self.username


class _Attachment(_Part):
    id: str
    filename: str = ""
    description: str | None = None
    content_type: str | None = None
    size: int | None = None
    url: str = ""


class _Named(_Part):
    name: str = ""


class _Reference(_Part):
    type: int = 0
    message_id: str | None = None


class _Replied(_Part):
    author: User | None = None


class _Held(_Part):
    """What a message holds, a forwarded one too."""

    content: str = ""
    attachments: list[_Attachment] = []
    sticker_items: list[_Named] = []
    embeds: list[Any] = []
    mentions: list[User] = []
    mention_roles: list[str] = []
    flags: int = 0


class _Snapshot(_Part):
    message: _Held = _Held()


class Message(_Held):
    """One message, as the gateway and a channel's history have it."""

    id: str = Field(pattern=r"^\d{1,20}$")
    channel_id: str = Field(pattern=r"^\d{1,20}$")
    type: int = 0
    author: User
    guild_id: str | None = None
    channel_type: int | None = None
    member: _Member | None = None
    edited_timestamp: str | None = None
    webhook_id: str | None = None
    message_reference: _Reference | None = None
    referenced_message: _Replied | None = None
    message_snapshots: list[_Snapshot] = []
    poll: Any = None
    nonce: str | int | None = None
    components: list[Any] = []

    @property
    def changed_at(self) -> float:
        """When its writer changed it last, in seconds since 1970; 0: never."""
        try:
            return datetime.fromisoformat(self.edited_timestamp or "").timestamp()
        except ValueError:
            return 0.0


class _Deleted(_Part):
    channel_id: str
    id: str | None = None
    ids: list[str] = []


class _Data(_Part):
    custom_id: str | None = None
    component_type: int = 0


class _Below(_Part):
    id: str


class _Presser(_Part):
    user: User
    nick: str | None = None


class _Interaction(_Part):
    id: str
    application_id: str
    type: int
    token: str
    channel_id: str | None = None
    member: _Presser | None = None
    user: User | None = None
    message: _Below | None = None
    data: _Data | None = None


class Frame(_Part):
    """One frame of the gateway; an event has a kind and data."""

    op: int
    t: str | None = None
    d: Any = None


@dataclass(frozen=True)
class Pressed:
    """A press, and what its answer needs: no id of it, since it opens that answer to anybody."""

    press: Press
    application: str
    token: str


@dataclass(frozen=True)
class Reader:
    """Reads what one bot is told."""

    around: Around

    def message(self, sent: Message, *, group: bool) -> InboundMessage | None:
        """Return a message; None for one in which nothing is to be read."""
        held = [sent, *(snapshot.message for snapshot in sent.message_snapshots)]
        unread = _unread(sent, held)
        files = [] if sent.flags & _VOICE else _files(sent, held)
        text = self._text(sent)
        if not text and not unread and not files:
            return None
        return InboundMessage(
            id=sent.id,
            chat=sent.channel_id,
            sender=sent.author.id,
            text=text,
            sender_name=_name(sent),
            group=group,
            addressed=not group or self._addressed(sent),
            source=self._source(sent),
            unread=unread,
            files=tuple(files),
            outside=bool(sent.message_snapshots),
        )

    def edit(self, sent: Message) -> Edit | None:
        """Return what somebody changed; None where Discord itself did, as for a link's picture."""
        text = self._text(sent)
        if sent.edited_timestamp is None or not text or self._source(sent) is not Source.PERSON:
            return None
        return Edit(sent.id, sent.channel_id, sent.author.id, text)

    def _source(self, sent: Message) -> Source:
        if sent.author.id == self.around.bot:
            return Source.OWN
        if sent.webhook_id is not None or sent.author.bot:
            return Source.BOT
        if sent.author.system or sent.type not in _WRITTEN:
            return Source.AUTOMATIC
        return Source.PERSON

    def _addressed(self, sent: Message) -> bool:
        around, replied = self.around, sent.referenced_message
        if replied is not None and replied.author is not None and replied.author.id == around.bot:
            return True
        if sent.channel_id in around.threads:
            return True
        named = any(one.id == around.bot for one in sent.mentions)
        return named or not around.own_roles.isdisjoint(sent.mention_roles)

    def _text(self, sent: Message) -> str:
        parts = [self._readable(sent)]
        for snapshot in sent.message_snapshots:
            forwarded = self._readable(snapshot.message)
            if forwarded:
                parts.append(f"{_FORWARDED}\n{forwarded}")
        return "\n\n".join(part for part in parts if part)

    def _readable(self, held: _Held) -> str:
        people = {one.id: one.name for one in held.mentions}
        around = self.around
        own = {f"<@{around.bot}>", f"<@!{around.bot}>"}
        own |= {f"<@&{role}>" for role in around.own_roles}
        return readable(held.content, Names(people, around.roles, around.channels), own)


def frame(raw: str | bytes) -> Frame | None:
    """Return a frame of the gateway; None when it is none."""
    try:
        return Frame.model_validate(orjson.loads(raw))
    except (orjson.JSONDecodeError, ValidationError):
        return None


def message(data: object) -> Message:
    """Return a message. Raises WebhookUnreadable."""
    return _read(Message, data)


def removals(data: object) -> Sequence[Removal]:
    """Return the messages that were deleted. Raises WebhookUnreadable."""
    deleted = _read(_Deleted, data)
    ids = [deleted.id] if deleted.id else deleted.ids
    return [Removal(one, deleted.channel_id, "") for one in ids]


def press(data: object) -> Pressed | None:
    """Return who pressed what; None for what is no button. Raises WebhookUnreadable."""
    told = _read(_Interaction, data)
    who = told.member.user if told.member else told.user
    if told.type != _COMPONENT or who is None or told.message is None or told.channel_id is None:
        return None
    if told.data is None or told.data.component_type != _BUTTON or told.data.custom_id is None:
        return None
    named = (told.member.nick if told.member else None) or who.name
    made = Press(
        told.id, told.channel_id, who.id, told.data.custom_id, told.message.id, sender_name=named
    )
    return Pressed(made, told.application_id, told.token)


def history(body: bytes) -> Sequence[object]:
    """Return a channel's messages, the oldest first. Raises WebhookUnreadable."""
    try:
        found: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, list):
        raise WebhookUnreadable("a channel's history is no list")
    return sorted(found, key=_number)


def _number(sent: object) -> int:
    known = sent.get("id") if isinstance(sent, Mapping) else None
    return int(known) if isinstance(known, str) and known.isdecimal() else 0


def _read(model: type[_Model], data: object) -> _Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the event"
        raise WebhookUnreadable(f"{place}: {fault['msg']}") from None


def _name(sent: Message) -> str:
    return (sent.member.nick if sent.member else None) or sent.author.name


def _unread(sent: Message, held: Sequence[_Held]) -> tuple[str, ...]:
    found = []
    if sent.flags & _VOICE:
        found.append("a voice message")
    if any(one.sticker_items for one in held):
        found.append("a sticker")
    if sent.poll is not None:
        found.append("a poll")
    # A person's are looks at links, which stand in the text.
    if sent.embeds and (sent.author.bot or sent.webhook_id is not None):
        found.append("an embed")
    return tuple(found)


def _files(sent: Message, held: Sequence[_Held]) -> list[RemoteFile]:
    return [
        RemoteFile(
            one.filename,
            (one.content_type or "").partition(";")[0],
            one.size,
            # Its address opens it for anybody, and not for long.
            {"channel": sent.channel_id, "message": sent.id, "attachment": one.id},
        )
        for holder in held
        for one in holder.attachments
    ]


# Answers of REST.


class _Made(_Part):
    id: str = Field(min_length=1)


class _Application(_Part):
    flags: int = 0


def made(body: bytes) -> str:
    """Return the id of what was made. Raises ValueError."""
    return _Made.model_validate_json(body).id


def user(body: bytes) -> User:
    """Return a user. Raises ValueError."""
    return User.model_validate_json(body)


def may_read(body: bytes) -> bool:
    """Return whether an application may read all messages. Raises ValueError."""
    return bool(_Application.model_validate_json(body).flags & _READS)


def address_of(body: bytes, attachment: str) -> str | None:
    """Return where a file of a message lies now."""
    try:
        sent = Message.model_validate_json(body)
    except ValidationError:
        return None
    held = [sent, *(snapshot.message for snapshot in sent.message_snapshots)]
    files = (one for holder in held for one in holder.attachments)
    return next((one.url for one in files if one.id == attachment), None)


def sent_by(who: str, body: bytes) -> Iterator[Message]:
    """Yield the messages of somebody in a channel's history."""
    for data in history(body):
        try:
            sent = message(data)
        except WebhookUnreadable:
            continue
        if sent.author.id == who:
            yield sent
