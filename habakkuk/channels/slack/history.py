"""What stands in a chat, read back: Slack can be asked for what it got."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from habakkuk.channels.messages import OutboundMessage
from habakkuk.channels.slack.client import Client, part

Message = Mapping[str, Any]
# A delivery is repeated for a day at most.
_OLDEST_SECONDS = 86_400.0 + 3600.0
_AHEAD_SECONDS = 3600.0
# So many are looked through, newest first in a channel, and then it counts as not there.
_PAGE, _PAGES = 200, 5


class History:
    """Reads the messages of one bot's chats. Raises Refused and Lost."""

    def __init__(self, client: Client) -> None:
        """Ask nothing yet."""
        self._client = client

    def find(self, message: OutboundMessage, event: str) -> Message | None:
        """Return a message that was sent, by its key in the metadata of `event`.

        A file has none: it is known by its name and its size, and that a bot sent it.
        """
        for found in self._messages(message.chat, message.thread):
            if _is_of(found, message, event):
                return found
        return None

    def one(self, chat: str, thread: str, ts: str) -> Message | None:
        """Return one message; None when it is gone."""
        data = self._page(chat, thread, latest=ts, oldest=ts, inclusive=True, limit=2)
        return next((one for one in _listed(data) if one.get("ts") == ts), None)

    def since(self, chat: str, oldest: str) -> list[Message]:
        """Return what was written in a chat after a time stamp, oldest first; the first page."""
        found = _listed(self._page(chat, "", oldest=oldest, limit=_PAGE))
        return sorted(found, key=lambda one: str(one.get("ts", "")))

    def _messages(self, chat: str, thread: str) -> Iterator[Message]:
        cursor, now = None, time.time()
        # Without an end Slack begins with the oldest; its clock may be ahead of ours.
        span = {"oldest": f"{now - _OLDEST_SECONDS:.6f}", "latest": f"{now + _AHEAD_SECONDS:.6f}"}
        for _ in range(_PAGES):
            data = self._page(
                chat, thread, **span, limit=_PAGE, cursor=cursor, include_all_metadata=True
            )
            yield from _listed(data)
            cursor = part(data, "response_metadata").get("next_cursor")
            if not cursor:
                return

    def _page(self, chat: str, thread: str, **asked: Any) -> object:
        if thread:
            return self._client.conversations_replies(channel=chat, ts=thread, **asked).data
        return self._client.conversations_history(channel=chat, **asked).data


def _listed(data: object) -> list[Message]:
    found = part(data).get("messages")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _is_of(found: Message, message: OutboundMessage, event: str) -> bool:
    if message.file is None:
        told = part(found, "metadata")
        key = part(told, "event_payload").get("key")
        return told.get("event_type") == event and key == message.key
    files = found.get("files")
    wanted = (message.file.name, message.file.size)
    held = [(one.get("name"), one.get("size")) for one in files or [] if isinstance(one, Mapping)]
    return wanted in held and found.get("bot_id") is not None
