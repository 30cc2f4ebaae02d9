"""Bytes read into a mail, in a time that whoever sent them cannot stretch.

The library looks at each line once for every part that it stands in, and all mail is read before
it is known who wrote it: one of many lines deep within parts would hold the mailbox up for hours.
"""

from __future__ import annotations

from email import message_from_bytes
from email.message import Message
from typing import Any

from habakkuk.channels.contract import WebhookUnreadable

# Mail as people write it has four or five levels, and a file of 40 MB has 530,000 lines.
_DEEPEST = 20
_MOST_LINES = 1_000_000


class _Mail(Message):
    """A mail, or a part of one, that knows how deep it stands."""

    depth = 0

    def attach(self, payload: Any) -> None:
        """Take a part, before its own parts are read. Raises WebhookUnreadable."""
        payload.depth = self.depth + 1
        if payload.depth > _DEEPEST:
            raise WebhookUnreadable("it has too many parts within parts")
        super().attach(payload)


def parsed(content: bytes) -> Message:
    """Return a mail. Raises WebhookUnreadable for one that takes too long to read."""
    ends = content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")
    if ends > _MOST_LINES:
        raise WebhookUnreadable("it has too many lines")
    return message_from_bytes(content, _Mail)
