"""One mailbox: who it is, its mails sent, its files fetched."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from email import message_from_bytes
from functools import cached_property
from typing import Any, ClassVar, NoReturn

from habakkuk.channels.contract import (
    Account,
    Allowance,
    Bounds,
    ChannelAdapter,
    Manifest,
    NotFetched,
    NotSent,
    WebhookRejected,
    Withheld,
)
from habakkuk.channels.email import imap, smtp
from habakkuk.channels.email.addresses import normalised
from habakkuk.channels.email.compose import Writer
from habakkuk.channels.email.manifest import MANIFEST, EmailSettings
from habakkuk.channels.email.place import Stand
from habakkuk.channels.email.proof import server_of
from habakkuk.channels.email.reading import LONGEST_HEAD
from habakkuk.channels.email.transfer import decoded
from habakkuk.channels.email.wire import Reader
from habakkuk.channels.email.withheld import withheld
from habakkuk.channels.messages import Event, OutboundMessage, RawRequest, Receipt, RemoteFile
from habakkuk.core.errors import ChannelError, ConfigurationError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp

_NO_WEBHOOKS = "this account fetches its mail and takes no webhooks"
# What both servers take in the ways to sign in that all of them have.
_PASSWORD = re.compile(r"[ -~]{1,500}")


class EmailAdapter(ChannelAdapter[EmailSettings]):
    """Talk to one mailbox over IMAP and SMTP."""

    manifest: ClassVar[Manifest] = MANIFEST

    def __init__(self, account: Account, settings: EmailSettings, http: OutsideHttp) -> None:
        """Read the password. Raises ConfigurationError."""
        super().__init__(account, settings, http)
        self.password = account.secret(settings.password_env)
        place = f"channels.{account.name}"
        if _PASSWORD.fullmatch(self.password) is None:
            raise ConfigurationError(
                f"{place}.password_env: {settings.password_env} holds more than letters, digits"
                " and signs of ASCII"
            )
        address = normalised(settings.address)
        if address is None:
            raise ConfigurationError(f"{place}.address: no mail can be sent from this address")
        self.address = address
        self._writer = Writer(settings.address, settings.display_name)

    @property
    def identity(self) -> str:
        """A digest of server, user and mailbox: others of theirs may be accounts as well."""
        settings = self.settings
        named = f"{settings.imap_host.lower()} {settings.user} {settings.mailbox}"
        return hashlib.sha256(named.encode()).hexdigest()[:16]

    @property
    def allowances(self) -> Sequence[Allowance]:
        """How much one sender may write: programs that mark their answers by nothing stop there."""
        hour, day = self.settings.messages_per_hour, self.settings.messages_per_day
        allowed = [Allowance(hour, 3600, "hour")] if hour is not None else []
        return [*allowed, Allowance(day, 86_400, "day")] if day is not None else allowed

    @property
    def concern(self) -> tuple[str, str] | None:
        """What holds of senders that nobody checks."""
        name = self.account.name
        if not self.settings.check_sender:
            return "anybody can write as anybody", f"check senders: channels.{name}.check_sender"
        if self.settings.checker is None:
            advice = f"`habakkuk channels test {name}` says what to write"
            return f"no mail is read without channels.{name}.trusted_authserv", advice
        return None

    @cached_property
    def reader(self) -> Reader:
        """What reads the mails of this account."""
        own = {self.address, normalised(self.settings.user) or self.address}
        return Reader(frozenset(own), self.settings.checker, self.settings.check_sender)

    def verify(self, request: RawRequest) -> None:  # noqa: ARG002 - whatever it holds
        """Refuse: nobody brings mail by HTTP."""
        raise WebhookRejected(_NO_WEBHOOKS)

    def parse(self, request: RawRequest) -> Sequence[Event]:  # noqa: ARG002 - as above
        """Refuse: nobody brings mail by HTTP."""
        raise WebhookRejected(_NO_WEBHOOKS)

    def send(self, message: OutboundMessage) -> Receipt:
        """Send one mail; a repeat has the same Message-ID."""
        recipient = normalised(message.chat)
        if recipient is None:
            raise NotSent(f"{message.chat[:100]} is no address of mail")
        known, mail = self._writer.write(message, recipient)
        with smtp.opened(self.settings, self.password) as line:
            smtp.send(line, self.settings.address, recipient, mail)
        return Receipt(known)

    def fetch(self, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
        """Yield a file out of a mail that still lies in the mailbox."""
        left = bounds.limit
        try:
            for piece in self._file(file.handle, bounds):
                left -= len(piece)
                yield piece if left >= 0 else _beyond(bounds.limit)
                bounds.left()
        except NotFetched:
            raise
        except ChannelError as error:
            raise NotFetched(str(error), retryable=error.retryable) from error

    def _file(self, handle: Mapping[str, Any], bounds: Bounds) -> Iterator[bytes]:
        with imap.opened(self.settings, self.password, bounds.interrupt) as box:
            if box.validity != handle["validity"]:
                raise NotFetched("the mailbox was made anew, and the mail is not found in it")
            pieces = _pieces(box, int(handle["uid"]), str(handle["part"]))
            yield from decoded(pieces, str(handle["encoding"]))

    def withheld(self, place: Mapping[str, Any]) -> Sequence[Withheld]:
        """Return the mails that the server does not give out."""
        stand = Stand.stored(place, self.identity)
        return withheld(stand) if stand is not None else ()

    def check(self) -> str:
        """Sign in to both servers. Raises ChannelError."""
        with imap.opened(self.settings, self.password, Interrupt()) as box:
            seen = server_of(message_from_bytes(box.newest_head(LONGEST_HEAD)))
        with smtp.opened(self.settings, self.password):
            pass
        if self.settings.check_sender and self.settings.checker is None:
            raise ChannelError(self._advice(seen))
        return f"{self.settings.address}, read over IMAP, sent over SMTP"

    def _advice(self, seen: str | None) -> str:
        told = (
            f"the newest mail was checked by {seen}: if that is your provider's server, write"
            f" trusted_authserv: {seen}"
            if seen
            else "the newest mail has no Authentication-Results: a server that checks no senders"
            " needs check_sender: false, and then anybody can write as anybody"
        )
        return f"both servers take the password, but no mail is read: {told}"


def _beyond(limit: int) -> NoReturn:
    raise NotFetched(f"the file is longer than {limit} bytes")


def _pieces(box: imap.Mailbox, uid: int, part: str) -> Iterator[bytes]:
    at = 0
    while piece := box.piece(uid, part, at):
        yield piece
        at += len(piece)
    if not at:
        raise NotFetched("the mail is gone, or its file is empty")
