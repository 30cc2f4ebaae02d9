"""Long polling: what is written to the bot, fetched in order (cases: K1, K6, K82).

Telegram keeps updates for a day and forgets one when the next is asked for. So the number of the
last stored one is kept with it, and nothing else is asked for until it is stored.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.messages import Event
from habakkuk.channels.polling import ChannelPoller, Door, Unusable
from habakkuk.channels.telegram import wire
from habakkuk.channels.telegram.adapter import TelegramAdapter
from habakkuk.channels.telegram.client import Lost, Refused
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger

_log = get_logger("channels.telegram")
_NO_TOKEN = (401, 404)
_CONFLICT = 409
# After a week without updates their numbers begin anew, anywhere.
_NUMBERS_LAST_SECONDS = 6 * 86400.0
_CONFLICT_REASON = (
    "another program fetches this bot's messages: each token may have one only; stop the other, or"
    " let BotFather revoke the token and use the new one here"
)


class TelegramPoller(ChannelPoller):
    """Fetches for one bot. The adapter's token must be used by nobody else."""

    # How long Telegram holds a request to which there is nothing to say.
    hold_seconds = 50.0
    conflict_wait_seconds = 5.0
    # A poller that dies leaves a request behind, which is no other program.
    conflict_patience_seconds = 60.0

    adapter: TelegramAdapter

    def run(self, door: Door, interrupt: Interrupt) -> None:
        """Fetch until it fails or is interrupted."""
        try:
            self._run(door, interrupt)
        except Refused as refused:
            if refused.status in _NO_TOKEN:
                raise Unusable(
                    f"Telegram does not know the bot's token ({refused.words}); BotFather has"
                    " the current one"
                ) from None
            raise ChannelError(
                f"Telegram refuses: {refused.words}",
                retryable=True,
                retry_after=refused.retry_after,
            ) from None
        except Lost as lost:
            raise ChannelError(lost.why, retryable=True) from None

    def _run(self, door: Door, interrupt: Interrupt) -> None:
        client = self.adapter.client
        me = client.call(lambda bot: bot.get_me(), interrupt)
        # Neither of the two gets anything while a webhook is set; what waits there is kept.
        client.call(lambda bot: bot.delete_webhook(drop_pending_updates=False), interrupt)
        door.alive()
        fetching = _Fetching(self, door, interrupt, self.adapter.reader(me.username or ""))
        while True:
            interrupt.check()
            fetching.once()


class _Fetching:
    """One run of a poller."""

    def __init__(
        self, poller: TelegramPoller, door: Door, interrupt: Interrupt, reader: wire.Reader
    ) -> None:
        self._poller = poller
        self._door = door
        self._interrupt = interrupt
        self._reader = reader
        self._place = _Place.read(door.cursor(), reader.bot)
        self._conflicts: tuple[float, float] | None = None

    def once(self) -> None:
        """Fetch what there is, and hand it over."""
        poller = self._poller
        try:
            found = poller.adapter.client.updates(
                self._place.offset(time.time()), wire.KINDS, poller.hold_seconds, self._interrupt
            )
        except Refused as refused:
            if refused.status != _CONFLICT:
                raise
            self._contest(refused)
            return
        self._door.alive()
        for update in found:
            self._take(update)

    def _take(self, update: object) -> None:
        number = wire.update_number(update)
        if number is None:
            _log.error("an update without a number")
            return
        try:
            events = self._reader.update(update)
        except WebhookUnreadable as error:
            # It would be as unreadable the next time, and hold up all that follows.
            _log.error("an update cannot be read", update=number, reason=str(error))
            events = []
        place = _Place(self._reader.bot, number, time.time())
        for event in events:
            self._store(event, place.written())
        self._place = place

    def _store(self, event: Event, cursor: Mapping[str, Any]) -> None:
        """Hand an event over, as often as it takes."""
        ChannelPoller.hand_over(partial(self._door.take, event, cursor), self._interrupt)

    def _contest(self, refused: Refused) -> None:
        """Wait while another fetches too. Raises Unusable when that goes on."""
        now, patience = time.monotonic(), self._poller.conflict_patience_seconds
        first, last = self._conflicts or (now, now)
        if now - last > 2 * patience:
            # Two who fetch take the line from each other much more often than that.
            first = now
        self._conflicts = (first, now)
        _log.warning("another fetches for this bot", reason=refused.words)
        if now - first >= patience:
            raise Unusable(f"{_CONFLICT_REASON} ({refused.words})")
        self._interrupt.wait(self._poller.conflict_wait_seconds)


@dataclass(frozen=True)
class _Place:
    """The last update of a bot, and when it was seen, in seconds since 1970; 0: there is none."""

    bot: int
    number: int = 0
    seen: float = 0.0

    @classmethod
    def read(cls, cursor: Mapping[str, Any] | None, bot: int) -> _Place:
        """Return where a bot stands; the numbers of another bot mean nothing here."""
        if cursor is None or cursor.get("bot") != bot:
            return cls(bot)
        return cls(bot, int(cursor["update"]), float(cursor["seen"]))

    def written(self) -> Mapping[str, Any]:
        """Return what is stored with an event."""
        return {"bot": self.bot, "update": self.number, "seen": self.seen}

    def offset(self, now: float) -> int | None:
        """Return the first number to ask for; None for whatever Telegram still has."""
        fresh = self.number and now - self.seen < _NUMBERS_LAST_SECONDS
        return self.number + 1 if fresh else None
