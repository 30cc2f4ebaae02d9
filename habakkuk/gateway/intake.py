"""Webhooks in: from a raw request to what became of each message in it.

Whoever sends decides nothing: the account's secret proves the platform, `allow_from` says who may
write, and only after the commit the platform is told that it arrived.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from habakkuk.accounts.service import Accounts
from habakkuk.channels.contract import Event, InboundMessage, RawRequest, Sender
from habakkuk.channels.registry import Channels, Line
from habakkuk.conversations.types import Address, Target
from habakkuk.core.errors import ConfigurationError, NotFound, Unavailable
from habakkuk.core.log import get_logger
from habakkuk.gateway.service import Gateway
from habakkuk.gateway.types import Cursor, Inbound
from habakkuk.jobs.types import Queue

_log = get_logger("gateway.intake")
_EVERYBODY = "*"
# An operator has to do something first; platforms come back for hours.
_CLOSED_SECONDS = 300.0


class Fate(StrEnum):
    """What became of a message. REFUSED: the sender may not write here."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


@dataclass(frozen=True)
class Received:
    """One message of a request; `reply` is the answer of a command, which is delivered as well."""

    id: str
    fate: Fate
    conversation_id: str | None = None
    turn_id: str | None = None
    reply: str | None = None


class Intake:
    """Takes the webhooks of all accounts."""

    def __init__(self, channels: Channels, accounts: Accounts, gateway: Gateway) -> None:
        """Use the accounts and the one door of this process."""
        self._channels = channels
        self._accounts = accounts
        self._gateway = gateway

    def receive(self, account: str, request: RawRequest) -> list[Received]:
        """Admit every message of a request, in its order.

        Raises NotFound for an account that is not there, Unavailable for one that cannot check
        signatures, WebhookRejected, WebhookUnreadable, and what Gateway.admit raises: then the
        platform must send all of it again, which makes no second turn of what was admitted.
        """
        line = self._line(account)
        line.adapter.verify(request)
        return [self.take(line, event) for event in line.adapter.parse(request)]

    def take(self, line: Line, event: Event, cursor: Cursor | None = None) -> Received:
        """Admit what happened on an account, with the place from which its poller goes on."""
        if not isinstance(event, InboundMessage):
            raise NotImplementedError("edits and presses")
        return self._take(line, event, cursor)

    def refuse(self, line: Line, event: Event, reason: str) -> None:
        """Tell the sender why something was not taken, where a poller brought it."""
        if isinstance(event, InboundMessage) and line.adapter.sends:
            inbound = self._inbound(line, event)
            self._gateway.say(inbound, reason)

    def _line(self, account: str) -> Line:
        try:
            line = self._channels.line(account)
        except ConfigurationError as error:
            _log.error("a channel is closed", account=account, reason=str(error))
            raise Unavailable("this channel is not set up", _CLOSED_SECONDS) from error
        if line is None:
            raise NotFound("there is no such channel")
        return line

    def _take(self, line: Line, message: InboundMessage, cursor: Cursor | None) -> Received:
        if not {message.sender, _EVERYBODY}.intersection(line.config.allow_from):
            _log.warning("a sender is not in allow_from", account=line.name, sender=message.sender)
            return Received(message.id, Fate.REFUSED)
        inbound = replace(self._inbound(line, message), cursor=cursor)
        admitted = self._gateway.admit(inbound)
        self._gateway.tell_what_it_waits_for(inbound, admitted)
        fate = Fate.DUPLICATE if admitted.duplicate else Fate.ACCEPTED
        return Received(
            message.id, fate, admitted.conversation_id, admitted.turn_id, admitted.reply
        )

    def _inbound(self, line: Line, message: InboundMessage) -> Inbound:
        channel = line.channel
        user = self._accounts.of_identity(channel, line.name, message.sender, message.sender_name)
        sends = line.adapter.sends
        target = Target(line.name, message.chat, message.thread, message.id, _queue(line))
        return Inbound(
            address=Address(channel, line.name, message.chat, message.thread),
            user=user,
            text=message.text,
            origin=channel,
            remote_id=message.id,
            agent=line.config.agent,
            joinable=line.adapter.manifest.bursts,
            attended=sends,
            approves=True,
            target=target if sends else None,
        )


def _queue(line: Line) -> str:
    """Return who sends: any worker, or the process that holds the account's connection."""
    if line.adapter.manifest.sends_from is Sender.INTAKE:
        return f"{Queue.DELIVERIES}.{line.name}"
    return str(Queue.DELIVERIES)
