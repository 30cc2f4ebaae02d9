"""Messages written as Discord takes them (its reference, "Create Message")."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from habakkuk.channels.contract import NotSent
from habakkuk.channels.discord.client import Body
from habakkuk.channels.discord.wire import Message
from habakkuk.channels.messages import Button, OutboundFile, OutboundMessage, Poll
from habakkuk.core.text import shorten

# Nobody is pinged by what a model writes, whatever stands in it.
QUIET: Mapping[str, Any] = {"parse": []}
BELOW = "message_reference"
NO_LOOKS = 1 << 2
ONLY_YOU = 1 << 6
SILENT = 1 << 12
_LONGEST_NONCE = 25
# Of a description, which has at most 1,024 characters.
_LONGEST_NAME = 900
_ROW, _BUTTON, _SECONDARY = 1, 2, 2
_PER_ROW, _MOST_ROWS = 5, 5
_LONGEST_LABEL = 80
_POLL_HOURS = 24
_LONGEST_QUESTION, _LONGEST_OPTION, _MOST_OPTIONS = 300, 55, 10
_FILE_SECONDS = 60.0


class _Media(BaseModel):
    text: str = ""


class _Choice(BaseModel):
    poll_media: _Media = _Media()


class _Poll(BaseModel):
    question: _Media = _Media()
    answers: list[_Choice] = []


def nonce(key: str) -> str:
    """Return the key of a message in the length that Discord takes."""
    if len(key) <= _LONGEST_NONCE:
        return key
    return hashlib.sha256(key.encode()).hexdigest()[:_LONGEST_NONCE]


def write_message(message: OutboundMessage, shown: str, flags: int) -> dict[str, Any]:
    """Return what is posted; a file's bytes go beside it. Raises NotSent for what has no form."""
    asked: dict[str, Any] = {
        "content": shown,
        "nonce": nonce(message.key),
        "enforce_nonce": True,
        "allowed_mentions": QUIET,
        "flags": flags,
    }
    if message.reply_to is not None and message.part == 1:
        asked |= below(message.reply_to)
    if message.buttons and message.part == message.parts:
        asked["components"] = _rows(message.buttons)
    if message.poll is not None:
        asked["poll"] = _poll(message.poll)
    if message.file is not None:
        asked["attachments"] = [
            {
                "id": 0,
                "filename": _file_name(message.file),
                "description": _description(message.file, message.key),
            }
        ]
    return asked


def below(message: str) -> dict[str, Any]:
    """Return what lets a message stand below another; where that is gone, it stands alone."""
    return {BELOW: {"message_id": message, "fail_if_not_exists": False}}


def is_same(sent: Message, asked: Mapping[str, Any]) -> bool:
    """Say whether a message has the words, files and poll that were asked for, wherever it is."""
    # Discord takes the blanks around a text away, and may change the names of files: these are
    # known by the key in what is said of them.
    described = [one.get("description") for one in asked.get("attachments", [])]
    return (
        sent.content.strip() == asked["content"].strip()
        and [one.description for one in sent.attachments] == described
        and _put(sent.poll) == _put(asked.get("poll"))
    )


def _put(poll: object) -> tuple[str, ...]:
    """Return the texts of a poll, which may be an older one's; of none nothing."""
    try:
        read = _Poll.model_validate(poll or {})
    except ValidationError:
        return ("",)
    return (read.question.text, *(one.poll_media.text for one in read.answers)) if poll else ()


def body(asked: Mapping[str, Any], file: OutboundFile | None) -> Body:
    """Return a message as the body of a request."""
    return Body.of(asked) if file is None else _multipart(asked, file)


def _multipart(asked: Mapping[str, Any], file: OutboundFile) -> Body:
    """Return a form of two parts (RFC 7578; Discord's reference, "Uploading Files")."""
    border = f"part-{secrets.token_hex(16)}".encode()
    with file.open() as opened:
        content = opened.read()
    named = _file_name(file).encode()
    parts = [
        b"--" + border,
        b'content-disposition: form-data; name="payload_json"',
        b"content-type: application/json",
        b"",
        orjson.dumps(asked),
        b"--" + border,
        b'content-disposition: form-data; name="files[0]"; filename="' + named + b'"',
        b"content-type: " + _kind(file.mime),
        b"",
        content,
        b"--" + border + b"--",
        b"",
    ]
    kind = f"multipart/form-data; boundary={border.decode()}"
    return Body(b"\r\n".join(parts), kind, _FILE_SECONDS)


def _kind(mime: str) -> bytes:
    plain = mime.isascii() and mime.isprintable() and "/" in mime
    return (mime if plain else "application/octet-stream").encode()


def _description(file: OutboundFile, key: str) -> str:
    """Return what Discord keeps beside a file: its name, and the key by which it is known again.

    It is read out in the place of a picture.
    """
    return f"{shorten(file.name, _LONGEST_NAME)} ({nonce(key)})"


def _file_name(file: OutboundFile) -> str:
    """Return a name that ends no header line and stands in no quotes."""
    return "".join("_" if one in '"\\/' or not one.isprintable() else one for one in file.name)


def _rows(buttons: Sequence[Button]) -> list[dict[str, Any]]:
    made = [
        {
            "type": _BUTTON,
            "style": _SECONDARY,
            "label": shorten(one.label, _LONGEST_LABEL),
            "custom_id": one.data,
        }
        for one in buttons[: _PER_ROW * _MOST_ROWS]
    ]
    rows = (made[start : start + _PER_ROW] for start in range(0, len(made), _PER_ROW))
    return [{"type": _ROW, "components": row} for row in rows]


def _poll(poll: Poll) -> dict[str, Any]:
    if not 0 < len(poll.options) <= _MOST_OPTIONS:
        raise NotSent(f"a poll at Discord has 1 to {_MOST_OPTIONS} choices")
    return {
        "question": {"text": shorten(poll.question, _LONGEST_QUESTION)},
        "answers": [
            {"poll_media": {"text": shorten(option, _LONGEST_OPTION)}} for option in poll.options
        ],
        "duration": _POLL_HOURS,
        "allow_multiselect": poll.multiple,
    }
