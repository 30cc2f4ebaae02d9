"""Up to where a bot's messages are stored, so that a restart reads what came meanwhile (K6).

Ids tell the time at which Discord made them, and the gateway brings the messages of all channels in
that order, but for some seconds. So one number is enough: everything is stored that is older than
the newest stored message by more than these. What is read twice is known by its id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from habakkuk.channels.discord.ids import first_at, made_at

_DISORDER_SECONDS = 60.0
# How far back before that messages are looked through for what was changed meanwhile.
_CHANGED_SECONDS = 3600.0
# Nobody wants answers to what they wrote the day before yesterday.
_LONGEST_SECONDS = 86400.0
# Direct chats are in no list that Discord gives: those that wrote last are remembered.
_MOST_DIRECT = 200


@dataclass(frozen=True)
class Stored:
    """Where a bot stands; `first` and `newest` are ids, `direct` the chats with one person."""

    bot: str
    first: int
    newest: int
    direct: tuple[str, ...] = ()

    @classmethod
    def begun(cls, bot: str, now: float) -> Stored:
        """Return the place of an account that starts: what was written before is not answered."""
        first = first_at(now)
        return cls(bot, first, first)

    @classmethod
    def read(cls, cursor: Mapping[str, Any] | None, bot: str) -> Stored | None:
        """Return a stored place; None without, or when it is another bot's."""
        if cursor is None or cursor.get("bot") != bot:
            return None
        direct = tuple(str(chat) for chat in cursor["direct"])
        return cls(bot, int(cursor["first"]), int(cursor["newest"]), direct)

    def written(self) -> Mapping[str, Any]:
        """Return what is stored with a message; JSON keeps no whole numbers of this size safe."""
        return {
            "bot": self.bot,
            "first": str(self.first),
            "newest": str(self.newest),
            "direct": list(self.direct),
        }

    def after(self, now: float) -> int:
        """Return the id after which a channel's history is read."""
        seen = first_at(made_at(self.newest) - _DISORDER_SECONDS)
        return max(self.first, seen, first_at(now - _LONGEST_SECONDS))

    def looked_through(self, after: int) -> int:
        """Return the id after which messages are looked through for changes."""
        return max(self.first, first_at(made_at(after) - _CHANGED_SECONDS))

    def passed(self, number: int) -> Stored:
        """Return the place with a message that is stored."""
        return replace(self, newest=max(self.newest, number))

    def with_direct(self, chat: str) -> Stored:
        """Return the place with a chat with one person, which comes first now."""
        if self.direct[:1] == (chat,):
            return self
        others: Sequence[str] = [one for one in self.direct if one != chat]
        return replace(self, direct=(chat, *others[: _MOST_DIRECT - 1]))
