"""The bodies of the webhook channel (docs/channels/webhook.md is their description)."""

from __future__ import annotations

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.messages import Edit, InboundMessage, OutboundMessage, Receipt, Source

_Id = Field(min_length=1, max_length=500)


class _Sender(BaseModel):
    model_config = ConfigDict(strict=True)
    id: str = _Id
    name: str = Field(default="", max_length=200)
    bot: bool = False


class _Message(BaseModel):
    model_config = ConfigDict(strict=True)
    chat: str = _Id
    thread: str = Field(default="", max_length=500)
    sender: _Sender
    text: str
    group: bool = False
    addressed: bool = True
    edits: str | None = Field(default=None, min_length=1, max_length=500)


class _Taken(BaseModel):
    id: str | None = Field(default=None, max_length=500)


def read_message(message_id: str, body: bytes) -> InboundMessage | Edit:
    """Return what a body tells. Raises WebhookUnreadable with what is wrong."""
    try:
        sent = _Message.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the body"
        raise WebhookUnreadable(f"{place}: {fault['msg']}") from error
    sender = sent.sender
    if sent.edits is not None:
        return Edit(sent.edits, sent.chat, sender.id, sent.text, sent.thread)
    return InboundMessage(
        message_id,
        sent.chat,
        sender.id,
        sent.text,
        sent.thread,
        sender.name,
        group=sent.group,
        addressed=sent.addressed,
        source=Source.BOT if sender.bot else Source.PERSON,
    )


def write_message(message: OutboundMessage) -> bytes:
    """Return the body that tells the other side of a message."""
    return orjson.dumps(
        {
            "id": message.key,
            "kind": message.kind,
            "chat": message.chat,
            "thread": message.thread,
            "reply_to": message.reply_to,
            "turn": message.turn,
            "part": message.part,
            "parts": message.parts,
            "text": message.text,
            "approval": message.approval,
        }
    )


def read_receipt(body: bytes) -> Receipt:
    """Return what the other side calls the message; its answer may be anything."""
    try:
        return Receipt(_Taken.model_validate_json(body).id)
    except ValidationError:
        return Receipt()
