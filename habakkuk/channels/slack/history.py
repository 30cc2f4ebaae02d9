"""What stands in a chat, read back: Slack can be asked for what it got."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from habakkuk.channels.messages import OutboundMessage
from habakkuk.channels.slack import files
from habakkuk.channels.slack.client import Client, Refused, part
from habakkuk.channels.slack.failures import NO_THREAD

Message = Mapping[str, Any]
# A delivery is repeated for a day at most.
_OLDEST_SECONDS = 86_400.0 + 3600.0
_AHEAD_SECONDS = 3600.0
# So many are looked through for one message, newest first in a channel; then it counts as not
# there.
_PAGE, _PAGES = 200, 5
_TS = re.compile(r"\d+\.\d+")


@dataclass(frozen=True)
class Past:
    """Some of what was written in a chat, oldest first.

    `following` is what the next page is asked for with, empty at the end.
    """

    messages: Sequence[Message]
    following: str


class History:
    """Reads the messages of one bot's chats. Raises Refused and Lost."""

    def __init__(self, client: Client) -> None:
        """Ask nothing yet."""
        self._client = client

    def find(self, message: OutboundMessage, event: str) -> Message | None:
        """Return a message that was sent, by its key in the metadata of `event`.

        A file has none: it is known by what its key has made of its name, and that a bot sent it.
        """
        for found in self._beside(message.chat, message.thread):
            if _is_of(found, message, event):
                return found
        return None

    def one(self, chat: str, thread: str, ts: str) -> Message | None:
        """Return one message; None when it is gone."""
        data = self._page(chat, thread, latest=ts, oldest=ts, inclusive=True, limit=2)
        return next((one for one in _listed(data) if one.get("ts") == ts), None)

    def since(self, chat: str, oldest: str, cursor: object = None) -> Past:
        """Return a page of what was written in a chat after a time stamp; `cursor` names it."""
        # Without an end Slack begins with the oldest, and each page goes on from there.
        data = self._page(chat, "", oldest=oldest, limit=_PAGE, cursor=cursor or None)
        found = [one for one in _listed(data) if _TS.fullmatch(str(one.get("ts")))]
        return Past(sorted(found, key=lambda one: float(one["ts"])), str(_following(data) or ""))

    def _beside(self, chat: str, thread: str) -> Iterator[Message]:
        """Yield what stands in a thread, then in its chat: there an answer is when it takes none.

        Slack says that of some; where the first message is gone, it says nothing.
        """
        if thread:
            try:
                yield from self._messages(chat, thread)
            except Refused as refused:
                if refused.code not in NO_THREAD:
                    raise
        yield from self._messages(chat, "")

    def _messages(self, chat: str, thread: str) -> Iterator[Message]:
        now = time.time()
        # With an end Slack begins with the newest; its clock may be ahead of ours.
        span = {"oldest": f"{now - _OLDEST_SECONDS:.6f}", "latest": f"{now + _AHEAD_SECONDS:.6f}"}
        for page in self._pages(chat, thread, **span, include_all_metadata=True):
            yield from _listed(page)

    def _pages(self, chat: str, thread: str, **asked: Any) -> Iterator[object]:
        cursor = None
        for _ in range(_PAGES):
            data = self._page(chat, thread, **asked, limit=_PAGE, cursor=cursor)
            yield data
            cursor = _following(data)
            if not cursor:
                return

    def _page(self, chat: str, thread: str, **asked: Any) -> object:
        if thread:
            return self._client.conversations_replies(channel=chat, ts=thread, **asked).data
        return self._client.conversations_history(channel=chat, **asked).data


def _following(data: object) -> object:
    """Return what the next page is asked for with, nothing where there is none."""
    return part(data, "response_metadata").get("next_cursor")


def _listed(data: object) -> list[Message]:
    found = part(data).get("messages")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _is_of(found: Message, message: OutboundMessage, event: str) -> bool:
    if message.file is None:
        told = part(found, "metadata")
        key = part(told, "event_payload").get("key")
        return told.get("event_type") == event and key == message.key
    held = found.get("files")
    names = [str(one.get("name")) for one in held or [] if isinstance(one, Mapping)]
    marked = any(files.mark(message.key) in name for name in names)
    return marked and found.get("bot_id") is not None
