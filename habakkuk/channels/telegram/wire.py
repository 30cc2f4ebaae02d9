"""What Telegram tells, read into events, and messages written as it takes them.

A message's number counts within its chat, so its id here is `<chat>:<number>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.messages import (
    Edit,
    Event,
    InboundMessage,
    OutboundMessage,
    Press,
    RemoteFile,
    Source,
)
from habakkuk.channels.telegram import media
from habakkuk.channels.telegram.albums import Albums

# What is asked for: everything else would only be thrown away.
KINDS = ("message", "edited_message", "callback_query")
_GROUPS = {"group", "supergroup"}
# What the button sends with which everybody begins, at times with something behind it.
_START = re.compile(r"/start(@[A-Za-z0-9_]+)?( [A-Za-z0-9_-]{1,64})?")
# So that what a stranger wrote is neither a command nor a yes of who forwards it.
_FORWARDED = "Forwarded:\n"
_COMMAND = re.compile(r"(/[A-Za-z0-9_]+)@([A-Za-z0-9_]+)")


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _User(_Part):
    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


class _Chat(_Part):
    id: int
    type: str = "private"


class _Entity(_Part):
    type: str
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    user: _User | None = None


class _Replied(_Part):
    sender: _User | None = Field(default=None, alias="from")
    forum_topic_created: Any = None

    def is_of(self, user: int) -> bool:
        return self.sender is not None and self.sender.id == user


class _Message(_Part):
    model_config = ConfigDict(strict=True, extra="allow")
    message_id: int
    chat: _Chat
    sender: _User | None = Field(default=None, alias="from")
    sender_chat: _Chat | None = None
    text: str = ""
    caption: str = ""
    entities: list[_Entity] = []
    caption_entities: list[_Entity] = []
    message_thread_id: int | None = None
    media_group_id: str | None = None
    is_topic_message: bool = False
    is_automatic_forward: bool = False
    reply_to_message: _Replied | None = None

    @property
    def id(self) -> str:
        return message_id(self.chat.id, self.message_id)

    @property
    def said(self) -> str:
        return self.text or self.caption

    @property
    def marks(self) -> list[_Entity]:
        return self.entities if self.text else self.caption_entities

    @property
    def thread(self) -> str:
        # Outside topics it is the first message of a chain of replies, which is no place.
        known = self.is_topic_message and self.message_thread_id is not None
        return str(self.message_thread_id) if known else ""

    @property
    def held(self) -> tuple[tuple[RemoteFile, ...], tuple[str, ...]]:
        """Its files, and what it holds beside text that is none."""
        return media.read(self.model_extra or {})

    @property
    def forwarded(self) -> bool:
        return "forward_origin" in (self.model_extra or {})


class _Pressed(_Part):
    id: str = Field(min_length=1)
    sender: _User = Field(alias="from")
    message: _Message | None = None
    data: str | None = None


class _Update(_Part):
    update_id: int
    message: _Message | None = None
    edited_message: _Message | None = None
    callback_query: _Pressed | None = None


class _Numbered(_Part):
    update_id: int


@dataclass(frozen=True)
class Reader:
    """Reads the updates of one bot. `username` is its name, without @; empty: nobody names it."""

    bot: int
    username: str
    albums: Albums = field(default_factory=Albums)

    def body(self, body: bytes) -> Sequence[Event]:
        """Return what a webhook tells. Raises WebhookUnreadable."""
        try:
            return self._events(_Update.model_validate_json(body))
        except ValidationError as error:
            raise WebhookUnreadable(_fault(error)) from None

    def update(self, update: object) -> Sequence[Event]:
        """Return what a fetched update tells. Raises WebhookUnreadable."""
        try:
            return self._events(_Update.model_validate(update))
        except ValidationError as error:
            raise WebhookUnreadable(_fault(error)) from None

    def _events(self, update: _Update) -> Sequence[Event]:
        found: Event | None = None
        if update.message is not None:
            found = self._message(update.message)
        elif update.edited_message is not None:
            found = self._edit(update.edited_message)
        elif update.callback_query is not None:
            found = _press(update.callback_query)
        return [] if found is None else [found]

    def _message(self, sent: _Message) -> InboundMessage | None:
        files, unread = sent.held
        if not sent.said and not files and not unread:
            # Who joined, what was pinned: notes of the platform, which nobody wrote.
            return None
        group = sent.chat.type in _GROUPS
        sender = sent.sender
        return InboundMessage(
            id=sent.id,
            chat=str(sent.chat.id),
            sender=str(sender.id) if sender else "",
            text=self._plain(sent),
            thread=sent.thread,
            sender_name=sender.name if sender else "",
            group=group,
            addressed=not group or self._addressed(sent),
            source=self._source(sent),
            unread=unread,
            files=files,
            outside=sent.forwarded,
        )

    def _edit(self, sent: _Message) -> Edit | None:
        if not sent.said or sent.sender is None or self._source(sent) is not Source.PERSON:
            return None
        return Edit(sent.id, str(sent.chat.id), str(sent.sender.id), self._plain(sent), sent.thread)

    def _source(self, sent: _Message) -> Source:
        """Tell who wrote it. Who writes as a chat cannot be told from others who do."""
        if sent.sender is None or sent.sender_chat is not None or sent.is_automatic_forward:
            return Source.AUTOMATIC
        if sent.sender.id == self.bot:
            return Source.OWN
        return Source.BOT if sent.sender.is_bot else Source.PERSON

    def _addressed(self, sent: _Message) -> bool:
        named = self._is_named(sent)
        if sent.media_group_id is None or sent.sender is None:
            return named
        album = (sent.chat.id, sent.sender.id, sent.media_group_id)
        return self.albums.addressed(album, named=named)

    def _is_named(self, sent: _Message) -> bool:
        replied = sent.reply_to_message
        # The first message of a topic is what every other one in it replies to.
        if replied is not None and not replied.forum_topic_created and replied.is_of(self.bot):
            return True
        return any(self._names(sent.said, mark) for mark in sent.marks)

    def _names(self, text: str, mark: _Entity) -> bool:
        if mark.type == "text_mention":
            return mark.user is not None and mark.user.id == self.bot
        said = _slice(text, mark.offset, mark.length).lower()
        if mark.type == "mention":
            return said == f"@{self.username}".lower()
        if mark.type == "bot_command":
            _, _, whose = said.partition("@")
            return whose in {"", self.username.lower()}
        return False

    def _plain(self, sent: _Message) -> str:
        """Return the text without the bot's own name where it only says whom it is for."""
        text = sent.said
        if sent.forwarded:
            return f"{_FORWARDED}{text}" if text else ""
        if sent.chat.type not in _GROUPS and _START.fullmatch(text):
            return "/help"
        first = next((mark for mark in sent.marks if mark.offset == 0), None)
        if first is None or not self._names(text, first):
            return text
        rest = _slice(text, first.length, None)
        if first.type == "bot_command":
            command = _COMMAND.fullmatch(_slice(text, 0, first.length))
            return f"{command[1]}{rest}" if command else text
        return rest.lstrip(" \t\n,:") or text


def message_id(chat: int | str, number: int) -> str:
    """Return the id of a message here."""
    return f"{chat}:{number}"


def message_number(known: str | None, chat: str) -> int | None:
    """Return a message's number in its chat; None when the id is not one of that chat."""
    whose, _, number = (known or "").rpartition(":")
    return int(number) if whose == chat and number.isdecimal() else None


def update_number(update: object) -> int | None:
    """Return the number of an update, whatever else is in it."""
    try:
        return _Numbered.model_validate(update).update_id
    except ValidationError:
        return None


def write_target(message: OutboundMessage) -> Mapping[str, Any]:
    """Return where a message goes, as the SDK's arguments."""
    thread = {"message_thread_id": int(message.thread)} if message.thread.isdecimal() else {}
    return {"chat_id": message.chat, **thread}


def _press(pressed: _Pressed) -> Press | None:
    message = pressed.message
    if message is None or pressed.data is None or pressed.sender.is_bot:
        return None
    return Press(
        id=pressed.id,
        chat=str(message.chat.id),
        sender=str(pressed.sender.id),
        data=pressed.data,
        message=message.id,
        thread=message.thread,
        sender_name=pressed.sender.name,
    )


def _slice(text: str, start: int, length: int | None) -> str:
    """Return a piece of a text that is counted in UTF-16 units (case K45)."""
    units = text.encode("utf-16-le", "surrogatepass")
    end = None if length is None else 2 * (start + length)
    return units[2 * start : end].decode("utf-16-le", "replace")


def _fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, fault["loc"])) or "the body"
    return f"{place}: {fault['msg']}"
