"""In which direct messages something was written last, and what of them is still to be read.

Slack gives up on what nobody takes within some minutes. So each stored event keeps the newest chats
with it, and a line that stands again begins with what they have had since. Until a chat is read,
from where it has to be is kept as well: what comes meanwhile does not cover what was missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from habakkuk.channels.contract import Withheld
from habakkuk.channels.messages import Event, InboundMessage
from habakkuk.channels.slack.wire import message_ts
from habakkuk.channels.slack.workspace import own_id

# Each is asked for with every new line, and stands in what is stored with every message.
_MOST = 50
# Chats that Slack refuses stay there until it gives them out.
_MOST_MISSED = 200
# What came late may be older than what came last: Slack's retries take six minutes.
_OVERLAP_SECONDS = 600
_MOST_NAMED = 5
_UNREAD = "Slack lets it be read slowly, or refuses it"
_ADVICE = (
    'where the log says "a chat cannot be read back", do what stands there, and then habakkuk'
    " channels restart"
)


class Places:
    """The newest chats of an account, each with the time stamp of what was read there last."""

    def __init__(self, cursor: Mapping[str, Any] | None, identity: str) -> None:
        """Begin where the cursor says, unless it is another app's."""
        known = _of(cursor, identity)
        self._identity = identity
        self._seen: dict[str, str] = dict(known.get("seen", {}))
        missed = {chat: _before(ts) for chat, ts in self._seen.items()}
        # A chat that an earlier run did not read to its end is read from there.
        missed |= dict(known.get("missed", {}))
        newest = sorted(missed, key=lambda chat: float(missed[chat]))[-_MOST_MISSED:]
        self._missed: dict[str, str] = {chat: missed[chat] for chat in newest}

    @property
    def missed(self) -> Mapping[str, str]:
        """The chats that are still to be read, each with the time stamp after which."""
        return dict(self._missed)

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
        return self._written()

    def read(self, chat: str, ts: str) -> Mapping[str, Any]:
        """Return what is stored with a message of the past, up to which a chat is read."""
        self._missed[chat] = ts
        if chat in self._seen:
            self._seen[chat] = max(ts, self._seen[chat])
        return self._written()

    def done(self, chat: str, *, gone: bool = False) -> Mapping[str, Any]:
        """Return what is stored when a chat is read to its end, or is there no more."""
        self._missed.pop(chat, None)
        if gone:
            self._seen.pop(chat, None)
        return self._written()

    def _written(self) -> Mapping[str, Any]:
        known: dict[str, Any] = {"identity": self._identity, "seen": dict(self._seen)}
        return known | ({"missed": dict(self._missed)} if self._missed else {})


def withheld(cursor: Mapping[str, Any], identity: str) -> Sequence[Withheld]:
    """Return, as one, the chats of a stored place that are not read to their end."""
    missed = dict(_of(cursor, identity).get("missed", {}))
    if not missed:
        return ()
    named = ", ".join(list(missed)[:_MOST_NAMED])
    more = f" and {len(missed) - _MOST_NAMED} more chats" if len(missed) > _MOST_NAMED else ""
    since = min(map(float, missed.values()))
    return [Withheld(f"what was missed in {named}{more}", since, _UNREAD, _ADVICE)]


def _of(cursor: Mapping[str, Any] | None, identity: str) -> Mapping[str, Any]:
    return cursor if cursor is not None and cursor.get("identity") == identity else {}


def _before(ts: str) -> str:
    return f"{max(0.0, float(ts) - _OVERLAP_SECONDS):.6f}"
