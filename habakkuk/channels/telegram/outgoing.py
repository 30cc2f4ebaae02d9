"""What Telegram is asked for one message: which of its methods, and with which arguments.

Limits: https://core.telegram.org/bots/api#sending-files, #sendphoto and #sendpoll.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    InputPollOption,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)

from habakkuk.channels.messages import Button, OutboundFile, OutboundMessage, Poll
from habakkuk.channels.telegram import wire
from habakkuk.channels.telegram.client import Refused
from habakkuk.channels.telegram.format import Formatted, render

_BAD_REQUEST = 400
_ROW_CHARACTERS = 30
_PHOTOS = ("image/jpeg", "image/png")
_LARGEST_PHOTO = 10_000_000
_LONGEST_CAPTION = 1024
# What Telegram says of a picture that it takes as a file only: https://core.telegram.org/method
# /messages.sendMedia lists them.
_NO_PHOTO = ("PHOTO_", "IMAGE_", "photo", "image")
# A topic that was deleted. Into one that was closed nobody is to write.
_NO_TOPIC = ("message thread not found", "TOPIC_DELETED")


@dataclass(frozen=True)
class Asked:
    """A method of the SDK's bot with its arguments; `shown` is the text as it was rendered."""

    method: str
    arguments: Mapping[str, Any] = field(repr=False)
    shown: Formatted
    entities: str = "entities"

    def eased(self, refused: Refused) -> Asked | None:
        """Return what to ask instead, None when nothing else would be taken."""
        asked = self.arguments
        if refused.moved_to is not None and asked["chat_id"] != str(refused.moved_to):
            # The group became a supergroup: its topics and numbers are others now.
            moved = {"chat_id": str(refused.moved_to), "message_thread_id": None}
            return replace(self, arguments={**asked, **moved, "reply_parameters": None})
        if refused.status != _BAD_REQUEST:
            return None
        if asked.get("message_thread_id") is not None and _is_any(_NO_TOPIC, refused):
            # Whoever reads the topics of a group reads what stands in none.
            return replace(self, arguments={**asked, "message_thread_id": None})
        if "entit" in refused.words.lower() and asked.get(self.entities):
            text = "caption" if self.entities == "caption_entities" else "text"
            plain = {text: self.shown.plain, self.entities: []}
            return replace(self, arguments={**asked, **plain})
        if self.method == "send_photo" and _is_any(_NO_PHOTO, refused):
            return self._as_document()
        return None

    def _as_document(self) -> Asked:
        arguments = {name: value for name, value in self.arguments.items() if name != "photo"}
        document = {"document": self.arguments["photo"]}
        return replace(self, method="send_document", arguments=arguments | document)


def _is_any(words: Sequence[str], refused: Refused) -> bool:
    return any(one in refused.words for one in words)


def asked(message: OutboundMessage, limit: int, opened: ExitStack, *, previews: bool) -> Asked:
    """Return what sends a message; `previews`: links are looked at by Telegram.

    Its file is open until `opened` is closed.
    """
    common = _common(message)
    if message.poll is not None:
        return _poll(message.poll, common)
    if message.file is not None:
        data = opened.enter_context(message.file.open())
        return _file(message.file, data, message.text, common)
    shown = render(message.text, limit)
    text = {
        "text": shown.text,
        "entities": entities(shown),
        "link_preview_options": LinkPreviewOptions(is_disabled=not previews),
    }
    return Asked("send_message", common | text, shown)


def _common(message: OutboundMessage) -> dict[str, Any]:
    made: dict[str, Any] = dict(wire.write_target(message))
    number = wire.message_number(message.reply_to, message.chat)
    if number is not None and message.part == 1:
        made["reply_parameters"] = ReplyParameters(number, allow_sending_without_reply=True)
    if message.buttons and message.part == message.parts:
        made["reply_markup"] = InlineKeyboardMarkup(_rows(message.buttons))
    return made


def _file(file: OutboundFile, data: BinaryIO, said: str, common: Mapping[str, Any]) -> Asked:
    shown = render(said, _LONGEST_CAPTION) if said else Formatted("", (), "")
    caption = {"caption": shown.text, "caption_entities": entities(shown)} if said else {}
    given = InputFile(data, filename=file.name, read_file_handle=False)
    photo = file.mime in _PHOTOS and file.size <= _LARGEST_PHOTO
    kind = "photo" if photo else "document"
    arguments = {**common, **caption, kind: given}
    if not photo:
        # Else a film or a sound would be made into another kind of message.
        arguments["disable_content_type_detection"] = True
    return Asked(f"send_{kind}", arguments, shown, "caption_entities")


def _poll(poll: Poll, common: Mapping[str, Any]) -> Asked:
    arguments = {
        **common,
        "question": poll.question,
        "options": [InputPollOption(one) for one in poll.options],
        "allows_multiple_answers": poll.multiple,
    }
    return Asked("send_poll", arguments, Formatted(poll.question, (), poll.question))


def entities(shown: Formatted) -> list[MessageEntity]:
    """Return the marks of a text as the SDK has them."""
    return [MessageEntity(**one.to_dict()) for one in shown.entities]


def _rows(buttons: Sequence[Button]) -> list[list[InlineKeyboardButton]]:
    """Return short buttons beside each other, longer ones each in a row."""
    made = [InlineKeyboardButton(one.label, callback_data=one.data) for one in buttons]
    if sum(len(one.label) for one in buttons) <= _ROW_CHARACTERS:
        return [made]
    return [[one] for one in made]
