"""Mail after mail out of an open mailbox: headers first, several at once, then what is wanted.

Whoever may not write is told by their header, so what they sent is never fetched.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.parser import BytesHeaderParser
from email.utils import mktime_tz, parsedate_tz
from typing import TypeVar

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.email.fetched import Head
from habakkuk.channels.email.imap import Mailbox, Refused
from habakkuk.channels.email.place import MOST_ASIDE, Stand
from habakkuk.channels.email.reading import LONGEST_HEAD
from habakkuk.channels.email.wire import Place, Reader
from habakkuk.channels.polling import ChannelPoller, Door
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger

_log = get_logger("channels.email")
_T = TypeVar("_T")
# Headers that are asked for together; of each at most LONGEST_HEAD.
_TOGETHER = 20
# A file of 25 MB has 34 MB as it is sent. Of a larger mail the text is fetched, which stands first.
_LARGEST, _MOST_OF_LARGER = 40_000_000, 2_000_000
# How far a server's clocks may be off, where numbers mean nothing any more.
_CLOCKS_SECONDS = 3600.0
_LEFT_OUT = "the server leaves it out of its answers"
_BREAKS = "the line breaks when it is asked for"


class Fetching:
    """One run of a poller, on one open mailbox. `name` tells the mailbox from others."""

    def __init__(
        self, box: Mailbox, door: Door, interrupt: Interrupt, reader: Reader, name: str
    ) -> None:
        """Take what it fetches from, hands over to and reads with."""
        self._box = box
        self._door = door
        self._interrupt = interrupt
        self._reader = reader
        self._place = self._stored = Stand(name, box.validity)
        self._together = _TOGETHER

    def begin(self, *, read_old: bool) -> None:
        """Find where to go on: at the stored place, else behind what is there now."""
        stored = Stand.stored(self._door.cursor(), self._place.box)
        if stored is None:
            uid = 0 if read_old else self._box.last_uid()
            self._store(replace(self._place, uid=uid, seen=time.time()))
        elif stored.validity == self._box.validity:
            self._place = self._stored = stored
        else:
            _log.warning("the numbers of a mailbox begin anew", mailbox=self._place.box)
            moment = stored.earliest - _CLOCKS_SECONDS
            self._store(stored.renumbered(self._box.validity, self._box.last_uid(), moment))
        # Where the line broke among several, the next try tells at which.
        self._together = 1 if self._place.broke[0] else _TOGETHER

    def all(self, pause: float) -> None:
        """Hand over all that came, until the server tells of no more; then what was set aside.

        `pause` is how long that waits before it is asked for again for the first time.
        """
        if len(self._place.aside) >= MOST_ASIDE:
            # There is no room for one more before some of these are given out, or up.
            self._ask_again(pause)
        while True:
            # What it told before is in what is asked for now.
            self._box.news()
            numbers = self._numbers()
            self._door.alive()
            for at in range(0, len(numbers), self._together):
                self._take_some(numbers[at : at + self._together])
            if not numbers and not self._box.news():
                break
        self._ask_again(pause)
        self._together = _TOGETHER

    def _ask_again(self, pause: float) -> None:
        for uid in self._place.due(time.time(), pause):
            self._take_some([uid])

    def _numbers(self) -> Sequence[int]:
        """Return the mails that come next; of those with new numbers, the ones that may be new."""
        place = self._place
        if place.is_looking_through:
            recent = self._box.since(place.since)
            numbers = [uid for uid in recent if place.uid < uid <= place.until]
            if numbers:
                return numbers
            self._store(replace(place, uid=place.until))
        return self._box.after(self._place.uid)

    def _take_some(self, uids: Sequence[int]) -> None:
        self._interrupt.check()
        try:
            heads = self._asked(uids[0], lambda: self._box.heads(uids, LONGEST_HEAD))
        except Refused as refused:
            self._take_each(uids, str(refused))
            return
        left_out = self._left_out(uids, heads)
        for uid in uids:
            self._interrupt.check()
            head = heads.get(uid)
            try:
                if uid not in left_out:
                    self._take(uid, head)
                elif len(uids) == 1:
                    self._set_aside(uid, _LEFT_OUT)
                else:
                    self._take_some([uid])
            except Refused as refused:
                self._set_aside(uid, str(refused), head.size if head else 0)
        if self._stored != self._place:
            self._store(self._place)

    def _left_out(self, uids: Sequence[int], heads: Mapping[int, Head]) -> Sequence[int]:
        """Return the mails that are there and of which an answer said nothing."""
        missing = [uid for uid in uids if uid not in heads]
        return self._box.existing(missing) if missing else []

    def _take_each(self, uids: Sequence[int], why: str) -> None:
        """Ask for each by itself: it may be for one of them alone."""
        if len(uids) == 1:
            self._set_aside(uids[0], why)
            return
        for uid in uids:
            self._take_some([uid])

    def _take(self, uid: int, head: Head | None) -> None:
        """Hand one mail over, or pass it over. Raises Refused."""
        place = self._place.past(uid, head.arrived if head else 0.0)
        if head is not None and self._is_new(head, place) and self._is_handed_over(head, place):
            self._stored = place
        self._place = place

    def _is_new(self, head: Head, place: Stand) -> bool:
        """Whether a mail may not have been read: its number, or else when it came, tells that."""
        if head.uid > place.until:
            return True
        if head.arrived and head.arrived < place.since:
            return False
        if _received(head) >= place.since:
            return True
        # Said, since the server takes it for a new one.
        _log.warning("a mail is not read again: it came before the numbers changed", uid=head.uid)
        return False

    def _is_handed_over(self, head: Head, place: Stand) -> bool:
        """Hand one mail over; False when there is nothing in it to hand over."""
        cursor = place.written()
        try:
            glance = _read(head.uid, lambda: self._reader.glance(head.content))
            if self._done(lambda: self._door.turns_away(glance, cursor)):
                return True
            whole = head.size <= _LARGEST
            most = _LARGEST if whole else _MOST_OF_LARGER
            content = self._asked(head.uid, lambda: self._box.read(head.uid, most))
            if content is None:
                return self._is_gone(head.uid)
            found = Place(self._box.validity, head.uid)
            event = _read(head.uid, lambda: self._reader.read(content, found, whole=whole))
        except WebhookUnreadable as error:
            _log.warning("a mail is not read", uid=head.uid, reason=str(error))
            return False
        self._done(lambda: self._door.take(event, cursor))
        return True

    def _is_gone(self, uid: int) -> bool:
        """Return False: nothing was handed over. Raises Refused for a mail that is there."""
        if self._box.existing([uid]):
            raise Refused(_LEFT_OUT, retryable=True)
        return False

    def _asked(self, uid: int, ask: Callable[[], _T]) -> _T:
        """Ask for something of a mail, and note when the line breaks there."""
        try:
            return ask()
        except Refused:
            raise
        except ChannelError:
            self._place = self._place.broken(uid)
            if self._place.breaks(uid):
                self._set_aside(uid, _BREAKS)
            else:
                self._store(self._place)
            raise

    def _set_aside(self, uid: int, why: str, size: int = 0) -> None:
        """Go on without a mail that the server does not give out. Raises ChannelError."""
        place = self._place.refused(uid, time.time(), why, size)
        if len(place.aside) > MOST_ASIDE:
            raise ChannelError("the server gives no mail out", retryable=True)
        if uid in place.aside:
            _log.warning("a mail is set aside: the server does not give it out", uid=uid, why=why)
        else:
            _log.error("a mail is passed over: the server never gave it out", uid=uid, why=why)
        self._store(place)

    def _store(self, place: Stand) -> None:
        self._place = place
        self._done(lambda: self._door.pass_over(place.written()))
        self._stored = place

    def _done(self, work: Callable[[], _T]) -> _T:
        return ChannelPoller.hand_over(work, self._interrupt)


def _read(uid: int, read: Callable[[], _T]) -> _T:
    """Read something of a mail. Raises WebhookUnreadable, also for a fault of ours.

    Its bytes stay what they are: tried again it would fail again, and hold up all that follow.
    """
    try:
        return read()
    except (WebhookUnreadable, MemoryError):
        raise
    except Exception as error:  # the top of one mail's work
        _log.exception("a mail cannot be read", uid=uid)
        raise WebhookUnreadable(f"an internal error ({type(error).__name__})") from error


def _received(head: Head) -> float:
    """Return when a mail reached the mailbox's server, in seconds since 1970; infinity untold.

    The topmost Received is the server's own. It stays when a mailbox moves, where all dates may
    become those of the move; Date is what somebody's clock said, before the mail lay in an outbox.
    """
    written = BytesHeaderParser().parsebytes(head.content).get("received", "")
    try:
        told = parsedate_tz(str(written).rpartition(";")[2])
        return float(mktime_tz(told)) if told else math.inf
    except (ValueError, OverflowError):
        return math.inf
