"""Bytes to a mail, in time and memory that grow with their number: anybody can send anything.

The library compares each line with the boundary of every container around it, reads a field of
parameters anew for each of them, and makes of a part of seven bytes an object of some hundred, of
each line a text of its own, and of each fault one more. For mails that one would send to that end
it takes hours, or all of the memory.
"""

from __future__ import annotations

import re
from email.errors import MessageDefect
from email.message import Message
from email.parser import BytesFeedParser, BytesHeaderParser
from email.policy import Policy, compat32
from typing import Any

from habakkuk.channels.contract import WebhookUnreadable

# Lines times containers: 25 MB of files, forwarded in 60 mails, are within it.
_MOST_LOOKS = 30_000_000
# A mail of 40 MB in base64 has half of it.
_MOST_LINES = 1_000_000
_LONGEST_FIELD = 10_000
# Fields of one part, and of all together.
_MOST_FIELDS, _MOST_OF_ALL = 2000, 20_000
_MOST_PARTS = 5000
# The library's own way through all of it at once has four bytes for each.
_PIECE_BYTES = 65_536
# In bytes. Servers that take mail take a tenth of that; a line to 5,000 people is within it.
LONGEST_HEAD = 200_000
_BODY = re.compile(rb"\r?\n\r?\n|\r\r")
_TOO_DEEP = "it has too many parts within parts"
_TOO_MANY = "it has more parts, fields or lines than a letter may have"


class _Forgotten(list[MessageDefect]):
    """Faults of a mail, of which it may have a million: nobody asks for them."""

    def append(self, fault: MessageDefect) -> None:
        """Forget it."""


class _Mail(Message):
    """A mail, or a part of one, whose endless fields are cut and have no parameters."""

    def __init__(self, policy: Policy, parts: _Parts) -> None:
        super().__init__(policy)
        self.defects = _Forgotten()
        self._parts = parts

    def set_raw(self, name: str, value: str) -> None:
        """Take the next field. Raises WebhookUnreadable when there are too many."""
        self._parts.fields += 1
        if len(self) >= _MOST_FIELDS or self._parts.fields > _MOST_OF_ALL:
            raise WebhookUnreadable(_TOO_MANY)
        super().set_raw(name, value[: _LONGEST_FIELD + 1])

    def get_param(
        self,
        param: str,
        failobj: Any = None,
        header: str = "content-type",
        unquote: bool = True,  # noqa: FBT001, FBT002 - the base's signature
    ) -> Any:
        """Return a parameter of a field, which names boundaries, charsets and files."""
        if len(str(self.get(header, ""))) > _LONGEST_FIELD:
            return failobj
        try:
            return super().get_param(param, failobj, header, unquote)
        except (LookupError, TypeError, ValueError):
            # Those that contradict each other (`name*` beside `name*0`) it cannot put in an order.
            return failobj


class _Parts:
    """Makes the parts of one mail."""

    def __init__(self) -> None:
        self.fields = 0
        self._count = 0

    def made(self, policy: Policy = compat32) -> Message:
        """Return the next. Raises WebhookUnreadable when there are too many."""
        self._count += 1
        if self._count > _MOST_PARTS:
            raise WebhookUnreadable(_TOO_MANY)
        return _Mail(policy, self)


def read_head(content: bytes) -> Message:
    """Return the header of a mail, cut at LONGEST_HEAD. Raises WebhookUnreadable."""
    if len(content) >= LONGEST_HEAD:
        raise WebhookUnreadable(_TOO_MANY)
    return BytesHeaderParser(_Parts().made).parsebytes(content)


def read_mail(content: bytes) -> Message:
    """Return a mail with its parts. Raises WebhookUnreadable."""
    containers = content.lower().count(b"boundary")
    lines = max(content.count(b"\n"), content.count(b"\r"))
    if lines > _MOST_LINES:
        raise WebhookUnreadable(_TOO_MANY)
    if containers * lines > _MOST_LOOKS:
        raise WebhookUnreadable(_TOO_DEEP)
    if len(content) > LONGEST_HEAD and _BODY.search(content, 0, LONGEST_HEAD) is None:
        raise WebhookUnreadable(_TOO_MANY)
    parser = BytesFeedParser(_Parts().made)
    try:
        for at in range(0, len(content), _PIECE_BYTES):
            parser.feed(content[at : at + _PIECE_BYTES])
        return parser.close()
    except RecursionError:
        raise WebhookUnreadable(_TOO_DEEP) from None
