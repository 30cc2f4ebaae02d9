"""How the accounts are, as the process that polls them wrote it down."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from habakkuk.channels.contract import Withheld
from habakkuk.channels.registry import Channels, Line
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.errors import ConfigurationError, NotFound
from habakkuk.db.engine import Database
from habakkuk.gateway.store import cursors
from habakkuk.gateway.types import Cursor

STATUS, POSITION = "status", "position"
SUPERVISOR, ALIVE = "supervisor", "alive"
# Longer than a few of its notes take.
_STALE_SECONDS = 60.0
# What is not given out is written down with each note: so many of it by name, the latest.
_MOST_NAMED = 20


class State(StrEnum):
    """WEBHOOK: the platform brings the messages. CLOSED: somebody has to change something."""

    STARTING = "starting"
    LISTENING = "listening"
    STANDBY = "standby"
    DOWN = "down"
    CLOSED = "closed"
    WEBHOOK = "webhook"
    NOBODY = "nobody listens"


@dataclass(frozen=True)
class AccountHealth:
    """One account; `heard` is how many seconds ago its platform was heard, None for never.

    `withheld` is what the platform does not give out, the latest first; `more` counts the rest.
    """

    name: str
    channel: str
    state: State
    reason: str = ""
    heard: float | None = None
    allowed: int = 0
    withheld: tuple[Withheld, ...] = ()
    more: int = 0


class ChannelHealth:
    """Looks at the accounts, and asks for new beginnings; it holds nothing of its own."""

    def __init__(self, database: Database, channels: Channels) -> None:
        """Use what the process has."""
        self._database = database
        self._channels = channels

    def all(self) -> Sequence[AccountHealth]:
        """Return every account, in the order of config.yaml."""
        told = {(row.channel, row.account): row for row in cursors.named(self._database, STATUS)}
        polled = set(self._channels.polled)
        return [
            self._polled(name, config, told.get((config.type, name)))
            if name in polled
            else self._by_webhook(name, config)
            for name, config in self._channels.configs.items()
        ]

    def restart(self, name: str) -> None:
        """Have an account's poller begin anew. Raises NotFound."""
        if name not in self._channels.polled:
            raise NotFound(f"no poller listens to an account {name!r}")
        channel = self._channels.configs[name].type
        cursors.save_alone(self._database, channel, name, Cursor("restart", {"at": time.time()}))

    def _polled(self, name: str, config: ChannelConfig, row: Any) -> AccountHealth:
        allowed = len(config.allow_from)
        if row is None or row.age > _STALE_SECONDS + _lasting(row):
            reason = "the channels process does not run"
            return AccountHealth(name, config.type, State.NOBODY, reason, None, allowed)
        heard = row.value.get("heard")
        ago = None if heard is None else max(0.0, time.time() - heard)
        state, reason = State(row.value["state"]), str(row.value["reason"])
        withheld = tuple(Withheld(**one) for one in row.value.get("withheld", []))
        more = int(row.value.get("more", 0))
        return AccountHealth(name, config.type, state, reason, ago, allowed, withheld, more)

    def _by_webhook(self, name: str, config: ChannelConfig) -> AccountHealth:
        allowed = len(config.allow_from)
        try:
            self._channels.line(name)
        except ConfigurationError as error:
            return AccountHealth(name, config.type, State.CLOSED, str(error), allowed=allowed)
        return AccountHealth(name, config.type, State.WEBHOOK, allowed=allowed)


def withheld(line: Line, place: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what is written down of what an account's platform does not give out."""
    found = line.adapter.withheld(place) if place is not None else ()
    latest = sorted(found, key=lambda one: one.since, reverse=True)
    named = [asdict(one) for one in latest[:_MOST_NAMED]]
    return {"withheld": named, "more": len(latest) - len(named)} if named else {}


def supervised(database: Database, host: str) -> bool:
    """Whether the process that polls runs on this host."""
    rows = cursors.named(database, ALIVE)
    return any(row.account == host and row.age < _STALE_SECONDS for row in rows)


def _lasting(row: Any) -> float:
    """Return for how long a state is not written again: one that waits says nothing meanwhile."""
    return 0.0 if row.value["state"] == State.LISTENING else 600.0
