"""Bytes to a mail, in a time that grows with their number: anybody can send anything.

The library compares each line with the boundary of every container around it, reads a field of
parameters anew for each of them, and makes of a part of seven bytes an object of some hundred. For
mails that one would send to that end it takes hours, or all of the memory.
"""

from __future__ import annotations

import re
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import Policy, compat32
from typing import Any

from habakkuk.channels.contract import WebhookUnreadable

# Lines times containers: 25 MB of files, forwarded in 60 mails, are within it.
_MOST_LOOKS = 30_000_000
_LONGEST_FIELD = 10_000
_MOST_FIELDS, _MOST_PARTS = 2000, 5000
# In bytes. Servers that take mail take a tenth of that; a line to 5,000 people is within it.
LONGEST_HEAD = 200_000
_BODY = re.compile(rb"\r?\n\r?\n|\r\r")
_TOO_DEEP = "it has too many parts within parts"
_TOO_MANY = "it has more parts, or fields, than a letter may have"


class _Mail(Message):
    """A mail, or a part of one, whose endless fields have no parameters."""

    def set_raw(self, name: str, value: str) -> None:
        """Take the next field. Raises WebhookUnreadable when there are too many."""
        if len(self) >= _MOST_FIELDS:
            raise WebhookUnreadable(_TOO_MANY)
        super().set_raw(name, value)

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
        return super().get_param(param, failobj, header, unquote)


class _Parts:
    """Makes the parts of one mail."""

    def __init__(self) -> None:
        self._count = 0

    def made(self, policy: Policy = compat32) -> Message:
        """Return the next. Raises WebhookUnreadable when there are too many."""
        self._count += 1
        if self._count > _MOST_PARTS:
            raise WebhookUnreadable(_TOO_MANY)
        return _Mail(policy)


def read_head(content: bytes) -> Message:
    """Return the header of a mail, cut at LONGEST_HEAD. Raises WebhookUnreadable."""
    if len(content) >= LONGEST_HEAD:
        raise WebhookUnreadable(_TOO_MANY)
    return BytesHeaderParser(_Parts().made).parsebytes(content)


def read_mail(content: bytes) -> Message:
    """Return a mail with its parts. Raises WebhookUnreadable."""
    containers = content.lower().count(b"boundary")
    lines = max(content.count(b"\n"), content.count(b"\r"))
    if containers * lines > _MOST_LOOKS:
        raise WebhookUnreadable(_TOO_DEEP)
    if len(content) > LONGEST_HEAD and _BODY.search(content, 0, LONGEST_HEAD) is None:
        raise WebhookUnreadable(_TOO_MANY)
    try:
        return BytesParser(_Parts().made).parsebytes(content)
    except RecursionError:
        raise WebhookUnreadable(_TOO_DEEP) from None
