"""In which direct messages something was written last: where to look for what was missed.

Slack gives up on what nobody takes within some minutes. So each stored event keeps the newest chats
with it, and a line that stands again begins with what they have had since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from habakkuk.channels.messages import Event, InboundMessage
from habakkuk.channels.slack.wire import message_ts
from habakkuk.channels.slack.workspace import own_id

# Each is asked for with every new line, and Slack lets an app ask 50 times in a minute.
_MOST = 20
# What came late may be older than what came last: Slack's retries take six minutes.
_OVERLAP_SECONDS = 600


class Places:
    """The newest chats of an account, each with the time stamp of what was read there last."""

    def __init__(self, cursor: Mapping[str, Any] | None, identity: str) -> None:
        """Begin where the cursor says, unless it is another app's."""
        known = cursor or {}
        self._identity = identity
        mine = known.get("identity") == identity
        self._seen: dict[str, str] = dict(known.get("seen", {})) if mine else {}

    def passed(self, event: Event) -> Mapping[str, Any] | None:
        """Return what is stored with an event; None when nothing changes."""
        channel = own_id(event.chat)
        ts = message_ts(event.id, channel) if isinstance(event, InboundMessage) else None
        if ts is None or not channel.startswith("D"):
            return None
        newest = max(ts, self._seen.pop(event.chat, ""))
        self._seen[event.chat] = newest
        while len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]
        return {"identity": self._identity, "seen": dict(self._seen)}

    def since(self) -> Mapping[str, str]:
        """Return from which time stamp on each chat has to be looked at."""
        return {
            chat: f"{max(0.0, float(ts) - _OVERLAP_SECONDS):.6f}" for chat, ts in self._seen.items()
        }
