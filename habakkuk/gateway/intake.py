"""What channels bring in: from an event of a platform to what became of it.

Whoever sends decides nothing: the account's secret proves the platform, the doorkeeper says who may
write, and only after the commit the platform is told that it arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from habakkuk.accounts.service import Accounts
from habakkuk.accounts.types import Role
from habakkuk.channels.messages import (
    Edit,
    Event,
    InboundMessage,
    Press,
    RawRequest,
    Removal,
    Reply,
    Source,
)
from habakkuk.channels.registry import Channels, Line
from habakkuk.conversations.files import Awaited
from habakkuk.core.config.schema import RouteConfig
from habakkuk.core.errors import ConfigurationError, Forbidden, NotFound, Unavailable, UserError
from habakkuk.core.log import get_logger
from habakkuk.core.text import clean, shorten
from habakkuk.db.engine import Database
from habakkuk.gateway import places
from habakkuk.gateway.admittance import Admittance, Entry
from habakkuk.gateway.edits import Edited, Edits
from habakkuk.gateway.entry import FRAME
from habakkuk.gateway.presses import Presses
from habakkuk.gateway.removals import Removals
from habakkuk.gateway.service import MOST_FILES, Gateway
from habakkuk.gateway.types import Cursor, Inbound

_log = get_logger("gateway.intake")
# An operator has to do something first; platforms come back for hours.
_CLOSED_SECONDS = 300.0
_LONGEST_NAME = 60
_VIEWER = "you may read on this server, but not write; its owner can change that"
_UNREADABLE = "I cannot read {what} yet. Please write what you want to say."
_MORE_FILES = "{count} more files (at most {most} of one message are taken)"
_TOO_MANY = "I take at most {most} files of one message; the last {count} of yours are left out."


class Fate(StrEnum):
    """What became of an event.

    REFUSED: the sender may not write here. IGNORED: it is not for us, and need not come again.
    """

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"
    REFUSED = "refused"


_FATES = {
    Edited.DONE: Fate.ACCEPTED,
    Edited.AGAIN: Fate.DUPLICATE,
    Edited.NOTHING: Fate.IGNORED,
}


@dataclass(frozen=True)
class Received:
    """One event of a request; `reply` is what was answered at once, which is delivered as well."""

    id: str
    fate: Fate
    conversation_id: str | None = None
    turn_id: str | None = None
    reply: str | None = None


@dataclass(frozen=True)
class Ports:
    """Who stands behind the intake, beside the one door."""

    database: Database
    accounts: Accounts
    admittance: Admittance
    edits: Edits
    presses: Presses
    removals: Removals


class Intake:
    """Takes the events of all accounts."""

    def __init__(
        self, channels: Channels, gateway: Gateway, routes: Sequence[RouteConfig], ports: Ports
    ) -> None:
        """Use the accounts and the one door of this process."""
        self._channels = channels
        self._gateway = gateway
        self._routes = routes
        self._ports = ports

    def receive(self, account: str, request: RawRequest) -> tuple[list[Received], Reply | None]:
        """Take every event of a request, in its order; return what the platform wants to read.

        Raises NotFound for an account that is not there, Unavailable for one that cannot check
        signatures, WebhookRejected, WebhookUnreadable, and what Gateway.admit raises: then the
        platform must send all of it again, which makes no second turn of what was admitted.
        """
        line = self._line(account)
        line.adapter.verify(request)
        received = [self.take(line, event) for event in line.adapter.parse(request)]
        return received, line.adapter.reply(request)

    def take(self, line: Line, event: Event, cursor: Cursor | None = None) -> Received:
        """Take what happened on an account, with the place from which its poller goes on.

        Raises Unavailable, when it has to come again, and, on a channel of programs, what
        Gateway.admit refuses by; people are told that in their chat.
        """
        turned_away = self.turn_away(line, event, cursor)
        if turned_away is not None:
            return turned_away
        try:
            return self._taken(line, event, cursor)
        except Unavailable:
            raise
        except UserError as error:
            self._gateway.pass_over(places.address(line, event), cursor)
            if not line.adapter.manifest.pairs:
                raise
            return self._said(line, event, Fate.IGNORED, str(error))

    def turn_away(self, line: Line, event: Event, cursor: Cursor | None = None) -> Received | None:
        """Return what becomes of an event that may not come in; None: it may.

        What it says is not looked at: a channel may ask before it fetches that, and takes it then.
        """
        entry = self._ports.admittance.decide(line, event)
        if entry is Entry.OPEN:
            return None
        self._gateway.pass_over(places.address(line, event), cursor)
        return Received(event.id, Fate(entry))

    def _line(self, account: str) -> Line:
        try:
            line = self._channels.line(account)
        except ConfigurationError as error:
            _log.error("a channel is closed", account=account, reason=str(error))
            raise Unavailable("this channel is not set up", _CLOSED_SECONDS) from error
        if line is None:
            raise NotFound("there is no such channel")
        return line

    def _taken(self, line: Line, event: Event, cursor: Cursor | None) -> Received:
        if isinstance(event, Edit):
            fate = _FATES[self._ports.edits.correct(line, event, cursor)]
            return Received(event.id, fate)
        if isinstance(event, Removal):
            fate = _FATES[self._ports.removals.remove(line, event, cursor)]
            return Received(event.id, fate)
        if isinstance(event, Press):
            told = self._ports.presses.press(line, event, cursor)
            fate = Fate.ACCEPTED if told.decided else Fate.IGNORED
            return Received(event.id, fate, reply=told.said)
        if event.unread and not event.files and not event.text.strip():
            self._gateway.pass_over(places.address(line, event), cursor)
            said = _UNREADABLE.format(what=" and ".join(event.unread))
            return self._said(line, event, Fate.ACCEPTED, said)
        return self._message(line, event, cursor)

    def _said(self, line: Line, event: Event, fate: Fate, said: str) -> Received:
        """Answer at once, without a turn; a program nothing, which might answer that (K60)."""
        if isinstance(event, InboundMessage) and event.source is Source.BOT:
            _log.info("a program's message is not taken", account=line.name, reason=said)
            return Received(event.id, Fate.IGNORED)
        places.tell(self._ports.database, line, event, "answer", said)
        return Received(event.id, fate, reply=said)

    def _message(self, line: Line, message: InboundMessage, cursor: Cursor | None) -> Received:
        inbound = self._inbound(line, message, cursor)
        if inbound.user.role is Role.VIEWER:
            raise Forbidden(_VIEWER)
        admitted = self._gateway.admit(inbound)
        if (count := len(message.files) - MOST_FILES) > 0:
            said = _TOO_MANY.format(most=MOST_FILES, count=count)
            places.tell(self._ports.database, line, message, "files", said)
        self._gateway.tell_what_it_waits_for(inbound, admitted)
        fate = Fate.DUPLICATE if admitted.duplicate else Fate.ACCEPTED
        return Received(
            message.id, fate, admitted.conversation_id, admitted.turn_id, admitted.reply
        )

    def _inbound(self, line: Line, message: InboundMessage, cursor: Cursor | None) -> Inbound:
        channel = line.channel
        user = self._ports.accounts.of_identity(
            channel, line.name, message.sender, message.sender_name
        )
        sends = line.adapter.sends
        person = message.source is not Source.BOT
        return Inbound(
            address=places.address(line, message),
            user=user,
            text=message.text,
            origin=channel,
            remote_id=message.id,
            routed=self._agent(line, message),
            joinable=line.adapter.manifest.bursts,
            # A program can neither be asked nor decide.
            commands=person,
            attended=sends and person,
            approves=person,
            target=places.target(line, message) if sends else None,
            cursor=cursor,
            writer=_name(message) if message.group else "",
            unread=message.unread + _left_out(message),
            awaited=_awaited(line, message),
            bot=not person,
            outside=message.outside,
            idle=line.config.session_idle,
        )

    def _agent(self, line: Line, message: InboundMessage) -> str | None:
        """Return who answers: as the first route that fits says, else as the account does."""
        canonical = line.adapter.manifest.canonical
        for route in self._routes:
            chat = canonical(route.chat) if route.chat is not None else message.chat
            fits = route.account in {None, line.name} and chat == message.chat
            named = route.sender is not None and canonical(route.sender) == message.sender
            alone = named and not message.group
            if fits and (route.sender is None or alone):
                return route.agent
        return line.config.agent


def _awaited(line: Line, message: InboundMessage) -> tuple[Awaited, ...]:
    return tuple(
        Awaited(line.name, file.name, file.mime, file.size, dict(file.handle))
        for file in message.files[:MOST_FILES]
    )


def _left_out(message: InboundMessage) -> tuple[str, ...]:
    count = len(message.files) - MOST_FILES
    return (_MORE_FILES.format(count=count, most=MOST_FILES),) if count > 0 else ()


def _name(message: InboundMessage) -> str:
    """Return what a group calls a writer, on one line and without what frames it."""
    named = shorten(clean(message.sender_name).translate(FRAME), _LONGEST_NAME)
    return named or shorten(clean(message.sender).translate(FRAME), _LONGEST_NAME)
