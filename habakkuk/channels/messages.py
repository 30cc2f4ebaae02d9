"""What goes to and fro between channels and their callers, as plain data.

Every id is the platform's own, never a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO


@dataclass(frozen=True)
class RawRequest:
    """A webhook as it came; header names are in small letters."""

    method: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What a platform wants to read as the answer to its request, beside that it was taken."""

    body: str = ""
    content_type: str = "text/plain"


class Source(StrEnum):
    """Who or what wrote a message: a person, this very account, another bot, or a machine."""

    PERSON = "person"
    OWN = "own"
    BOT = "bot"
    AUTOMATIC = "automatic"


@dataclass(frozen=True)
class RemoteFile:
    """A file that came with a message and still lies at the platform.

    `handle` is what `fetch` needs to find it, as JSON: ids, no secret and no address that opens it
    for anybody. `size` in bytes, None where the platform does not tell.
    """

    name: str
    mime: str
    size: int | None
    handle: Mapping[str, Any]


@dataclass(frozen=True)
class InboundMessage:
    """One message as the channel understood it; every id is the platform's own, never a name.

    `group`: others read along; `addressed`: in a group it is meant for this account, as by a
    mention, a reply to it or a thread with it. `unread` names what it has that cannot be read, such
    as "a voice message". `outside`: strangers' words may stand in it, as in a forwarded mail.
    `subject`, where a platform has such, is kept for the answer.
    """

    id: str
    chat: str
    sender: str
    text: str
    thread: str = ""
    sender_name: str = ""
    group: bool = False
    addressed: bool = True
    source: Source = Source.PERSON
    unread: tuple[str, ...] = ()
    files: tuple[RemoteFile, ...] = ()
    outside: bool = False
    subject: str = ""


@dataclass(frozen=True)
class Edit:
    """Somebody changed the text of a message of theirs; `id` is that message's."""

    id: str
    chat: str
    sender: str
    text: str
    thread: str = ""


@dataclass(frozen=True)
class Removal:
    """A message was deleted; `id` is that message's, `sender` whose it was, where that is told."""

    id: str
    chat: str
    sender: str
    thread: str = ""


@dataclass(frozen=True)
class Press:
    """Somebody pressed a button; `message` has it, `data` is what the button was made with."""

    id: str
    chat: str
    sender: str
    data: str
    message: str
    thread: str = ""
    sender_name: str = ""


Event = InboundMessage | Edit | Press | Removal


@dataclass(frozen=True)
class Button:
    """One choice below a message; `data` (at most 64 bytes) comes back when it is pressed."""

    label: str
    data: str


@dataclass(frozen=True)
class OutboundFile:
    """A file to send; `size` in bytes. `open` gives its bytes from the start, each time anew."""

    name: str
    mime: str
    size: int
    open: Callable[[], BinaryIO] = field(repr=False)


@dataclass(frozen=True)
class Poll:
    """A question with choices; `multiple`: several may be chosen."""

    question: str
    options: tuple[str, ...]
    multiple: bool = False


@dataclass(frozen=True)
class OfferedCommand:
    """A command for a platform's own list; `name` without its slash, `help` one sentence."""

    name: str
    help: str


class Reaction(StrEnum):
    """What stands at a person's message about its turn; each is one emoji everywhere."""

    WORKING = "👀"
    DONE = "👍"
    FAILED = "😢"


@dataclass(frozen=True)
class OutboundMessage:
    """One message to send. `key` is the same for every repeat of this very message.

    `reply_to` is the platform's id of what it answers; it is part `part` of `parts`, from 1.
    `approval` is the id of the question that it puts; `buttons` stand below the last part. With a
    `file`, `text` is what is said of it, maybe nothing. With a `poll` there is no text. `subject`
    is that of what it answers.
    """

    key: str
    chat: str
    thread: str
    text: str
    kind: str
    reply_to: str | None = None
    turn: str | None = None
    part: int = 1
    parts: int = 1
    approval: str | None = None
    buttons: tuple[Button, ...] = ()
    file: OutboundFile | None = None
    poll: Poll | None = None
    subject: str = ""


@dataclass(frozen=True)
class Receipt:
    """What the platform said of a message that it took; `id` is its own for it."""

    id: str | None = None
