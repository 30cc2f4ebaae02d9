"""What is written to a mailbox, fetched in order and none of it twice (cases: K1, K6, K8, K60).

The number of the last mail is stored with what it said, in one transaction, and mails that are
nobody's are passed over together. A server that can is waited for (IDLE); others are asked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from email.parser import BytesHeaderParser
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, ClassVar

from habakkuk.channels.contract import ChannelPoller, Door, WebhookUnreadable
from habakkuk.channels.email.adapter import EmailAdapter
from habakkuk.channels.email.imap import Found, Mailbox, opened
from habakkuk.channels.email.wire import Place
from habakkuk.channels.messages import Event
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger

_log = get_logger("channels.email")
# What is beyond that of one mail are files that could not be fetched later, either.
_MOST_BYTES = 40_000_000
# How far the clocks of those who send may be off, where numbers mean nothing any more.
_CLOCKS_SECONDS = 3600.0
_NO_CHECKER = (
    "no mail is read: channels.{name}.trusted_authserv names no server that checks senders;"
    " habakkuk channels test {name} says what to write"
)


class EmailPoller(ChannelPoller):
    """Fetches from one mailbox."""

    # A line that is cut somewhere in between looks open for as long. RFC 2177 allows 29 minutes.
    idle_seconds = 300.0
    # How often a server is asked that cannot be waited for.
    ask_seconds = 30.0
    silence: ClassVar[float] = 420.0

    adapter: EmailAdapter

    def run(self, door: Door, interrupt: Interrupt) -> None:
        """Fetch until it fails or is interrupted."""
        adapter = self.adapter
        if adapter.settings.check_sender and adapter.settings.checker is None:
            _log.error(_NO_CHECKER.format(name=adapter.account.name))
        with opened(adapter.settings, adapter.password, interrupt) as box:
            door.alive()
            fetching = _Fetching(self, box, door, interrupt)
            fetching.begin()
            while True:
                interrupt.check()
                fetching.all()
                self._wait(box, interrupt)

    def _wait(self, box: Mailbox, interrupt: Interrupt) -> None:
        if box.waits:
            box.wait(self.idle_seconds)
        else:
            interrupt.wait(self.ask_seconds)
            interrupt.check()
            box.ask()


class _Fetching:
    """One run of a poller, on one open mailbox."""

    def __init__(self, poller: EmailPoller, box: Mailbox, door: Door, interrupt: Interrupt) -> None:
        self._box = box
        self._door = door
        self._interrupt = interrupt
        self._reader = poller.adapter.reader
        self._read_old = poller.adapter.settings.read_old
        self._name = poller.adapter.identity
        self._place = _Stand(self._name, box.validity)

    def begin(self) -> None:
        """Find where to go on: at the stored place, else behind what is there now."""
        stored = _Stand.stored(self._door.cursor(), self._name)
        if stored is None:
            uid = 0 if self._read_old else self._box.last_uid()
            self._place = replace(self._place, uid=uid, seen=time.time())
            self._pass(self._place)
        elif stored.validity == self._box.validity:
            self._place = stored
        else:
            _log.warning("the numbers of a mailbox begin anew", mailbox=self._name)
            self._renumbered(stored)

    def all(self) -> None:
        """Hand over all that came, until the server tells of no more."""
        while True:
            # What it told before is in what is asked for now.
            self._box.news()
            numbers = self._box.after(self._place.uid)
            self._door.alive()
            self._take_all(numbers)
            if not numbers and not self._box.news():
                return

    def _renumbered(self, stored: _Stand) -> None:
        """Look through what came since the last mail; its id tells what is known already."""
        last, moment = self._box.last_uid(), stored.seen - _CLOCKS_SECONDS
        self._place = replace(self._place, seen=stored.seen)
        for uid in self._box.since(moment):
            found = self._box.read(uid, _MOST_BYTES)
            if found is not None and found.arrived >= moment and _written(found) >= moment:
                # Only the end of it is a place: until then it would begin anew.
                self._take(found, None)
        self._place = replace(self._place, uid=last)
        self._pass(self._place)

    def _take_all(self, numbers: Sequence[int]) -> None:
        stored = self._place
        for uid in numbers:
            self._interrupt.check()
            found = self._box.read(uid, _MOST_BYTES)
            seen = max(self._place.seen, found.arrived) if found else self._place.seen
            self._place = replace(self._place, uid=uid, seen=seen)
            if found is not None and self._take(found, self._place):
                stored = self._place
        if stored != self._place:
            self._pass(self._place)

    def _take(self, found: Found, place: _Stand | None) -> bool:
        """Hand one mail over; False when there is nothing in it to hand over."""
        try:
            event = self._reader.read(found.content, Place(self._box.validity, found.uid))
        except WebhookUnreadable as error:
            _log.warning("a mail is not read", uid=found.uid, reason=str(error))
            return False
        self._store(event, place)
        return True

    def _store(self, event: Event, place: _Stand | None) -> None:
        """Hand an event over, as often as it takes."""
        written = place.written() if place else None
        ChannelPoller.hand_over(partial(self._door.take, event, written), self._interrupt)

    def _pass(self, place: _Stand) -> None:
        ChannelPoller.hand_over(partial(self._door.pass_over, place.written()), self._interrupt)


@dataclass(frozen=True)
class _Stand:
    """The last mail of a mailbox, and when the newest one arrived, in seconds since 1970."""

    box: str
    validity: int
    uid: int = 0
    seen: float = 0.0

    @classmethod
    def stored(cls, cursor: Mapping[str, Any] | None, box: str) -> _Stand | None:
        """Return where a mailbox stands; the numbers of another one mean nothing here."""
        if cursor is None or cursor.get("box") != box:
            return None
        return cls(box, int(cursor["validity"]), int(cursor["uid"]), float(cursor["seen"]))

    def written(self) -> Mapping[str, Any]:
        """Return what is stored with an event."""
        return {"box": self.box, "validity": self.validity, "uid": self.uid, "seen": self.seen}


def _written(found: Found) -> float:
    """Return when a mail says that it was written; when it arrived, where it does not say."""
    said = BytesHeaderParser().parsebytes(found.content[:200_000]).get("date")
    try:
        return parsedate_to_datetime(str(said)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return found.arrived
