"""Who and what may come in at an account, before anything of it is stored.

Asked in this order: who wrote it (never ourselves, never a machine), whether it is meant for us,
whether the sender may write here, and whether that was too much of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from habakkuk.channels.contract import Allowance
from habakkuk.channels.messages import Edit, Event, InboundMessage, Removal, Source
from habakkuk.channels.registry import Line
from habakkuk.core.config.schema import Groups
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database
from habakkuk.gateway import places
from habakkuk.gateway.limits import Measure, SenderLimit
from habakkuk.gateway.pairing import Pairings
from habakkuk.gateway.store import quiet

_log = get_logger("gateway.admittance")
_EVERYBODY = "*"
# Two programs that answer each other come to an end (K60), and one that reports is heard.
_MOST_BOT_MESSAGES = 6
_BOT_SECONDS = 600.0
_TOO_MUCH = (
    "That is more than {most} messages in one {period}. What you write is not read until the"
    " {period} is over; then send it again."
)


class Entry(StrEnum):
    """What is decided. IGNORED and REFUSED alike are not stored; who is refused is told so."""

    OPEN = "open"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True)
class Admittance:
    """The doorkeeper of all accounts."""

    database: Database
    pairings: Pairings
    limit: SenderLimit

    def decide(self, line: Line, event: Event) -> Entry:
        """Decide on an event; a stranger may be told a code, who sends too much that it is so."""
        if isinstance(event, InboundMessage) and not _is_meant(line, event):
            return Entry.IGNORED
        if isinstance(event, Removal) and not event.sender:
            # The platform tells not whose it was: it takes back what is known, and adds nothing.
            return Entry.OPEN
        if isinstance(event, InboundMessage) and event.source is Source.BOT:
            if not self._hears_bot(line, event):
                return Entry.IGNORED
        elif not self._knows(line, event.sender):
            return self._stranger(line, event)
        if isinstance(event, Removal):
            # What is taken back costs nothing, and would be answered otherwise.
            return Entry.OPEN
        return Entry.IGNORED if self._is_too_much(line, event) else Entry.OPEN

    def _knows(self, line: Line, sender: str) -> bool:
        if {sender, _EVERYBODY}.intersection(line.allowed):
            return True
        pairs = line.adapter.manifest.pairs
        return pairs and self.pairings.holds(line.channel, line.name, sender)

    def _stranger(self, line: Line, event: Event) -> Entry:
        _log.warning("a sender is not in allow_from", account=line.name, sender=event.sender)
        if not line.adapter.manifest.pairs:
            return Entry.REFUSED
        # A flood of theirs does not get as far as a code.
        if not line.adapter.sends or self._measure(line, event)[0] is not Measure.WITHIN:
            return Entry.IGNORED
        if isinstance(event, InboundMessage) and not event.group:
            address, target = places.address(line, event), places.target(line, event)
            self.pairings.knock(address, event.sender, event.sender_name, target)
        return Entry.IGNORED

    def _hears_bot(self, line: Line, message: InboundMessage) -> bool:
        if message.sender not in line.allowed:
            return False
        place = places.address(line, message)
        count = quiet.bots_in_a_row(self.database, place, _MOST_BOT_MESSAGES, _BOT_SECONDS)
        if count >= _MOST_BOT_MESSAGES:
            _log.warning("a program is not heard any more", account=line.name, chat=message.chat)
        return count < _MOST_BOT_MESSAGES

    def _measure(self, line: Line, event: Event) -> tuple[Measure, Allowance | None]:
        """Return whether it is too much, and of what; what is, counts for no longer time."""
        # Every change of one message is another event.
        told = f"{event.id} {event.text}" if isinstance(event, Edit) else event.id
        named = f"{type(event).__name__} {told}"
        for allowed in _allowances(line):
            measure = self.limit.measure(line.name, event.sender, named, allowed)
            if measure is not Measure.WITHIN:
                return measure, allowed
        return Measure.WITHIN, None

    def _is_too_much(self, line: Line, event: Event) -> bool:
        measure, allowed = self._measure(line, event)
        if measure is Measure.WITHIN or allowed is None:
            return False
        if measure is Measure.FIRST_OVER:
            _log.warning("a sender sends too much", account=line.name, sender=event.sender)
            said = _TOO_MUCH.format(most=allowed.most, period=allowed.period)
            places.tell(self.database, line, event, "limit", said)
        return True


def _allowances(line: Line) -> Iterator[Allowance]:
    if line.config.messages_per_minute is not None:
        yield Allowance(line.config.messages_per_minute, 60, "minute")
    yield from line.adapter.allowances


def _is_meant(line: Line, message: InboundMessage) -> bool:
    if message.source in {Source.OWN, Source.AUTOMATIC}:
        return False
    if not message.group:
        return True
    groups = line.config.groups
    return groups is Groups.ALL or (groups is Groups.ADDRESSED and message.addressed)
