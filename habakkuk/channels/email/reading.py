"""Bytes to a mail, in a time that grows with their number: anybody can send anything.

The library compares each line with the boundary of every container around it, and reads a field
of parameters anew for each of them; both take hours for mails that one would send to that end.
"""

from __future__ import annotations

from email import message_from_bytes
from email.message import Message
from typing import Any

from habakkuk.channels.contract import WebhookUnreadable

# Lines times containers: 25 MB of files, forwarded in 60 mails, are within it.
_MOST_LOOKS = 30_000_000
_LONGEST_FIELD = 10_000
_TOO_DEEP = "it has too many parts within parts"


class _Mail(Message):
    """A mail, or a part of one, whose endless fields have no parameters."""

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


def read_mail(content: bytes) -> Message:
    """Return a mail with its parts. Raises WebhookUnreadable."""
    containers = content.lower().count(b"boundary")
    lines = max(content.count(b"\n"), content.count(b"\r"))
    if containers * lines > _MOST_LOOKS:
        raise WebhookUnreadable(_TOO_DEEP)
    try:
        return message_from_bytes(content, _Mail)
    except RecursionError:
        raise WebhookUnreadable(_TOO_DEEP) from None
