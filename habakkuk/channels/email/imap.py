"""One line to a mailbox, through imap-tools, that another thread can cut.

Nothing is changed in the mailbox: it is opened to read, and no mail is marked as seen.
"""

from __future__ import annotations

import imaplib
import os
import re
import select
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from imap_tools import MailBox, MailBoxStartTls, MailBoxUnencrypted
from imap_tools.errors import ImapToolsError, MailboxFolderSelectError, MailboxLoginError
from imap_tools.mailbox import BaseMailBox

from habakkuk.channels.email.fetched import Head, read_heads, read_literal
from habakkuk.channels.email.manifest import EmailSettings, Tls
from habakkuk.channels.polling import Unusable
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.lines import Plug
from habakkuk.core.trust import trusted

# A stop waits for a line that is only being opened.
_CONNECT_SECONDS = 8.0
_ANSWER_SECONDS = 40.0
_PIECE_BYTES = 1_000_000
# Failures that pass by themselves (RFC 5530); any other refusal is one of name and password.
_LATER = re.compile(rb"\[(unavailable|inuse|limit|serverbug)\]", re.IGNORECASE)
_BAD = re.compile(r"command error: BAD\b")
# The library takes no answer of more than a megabyte: a mailbox has up to a million mails, whose
# numbers come on one line.
_MOST_NUMBERS = 50_000
_ATOM = re.compile(r"[0-9.]{1,100}")


class Refused(ChannelError):
    """The server does not give out what was asked for; the line is as good as before."""


class Mailbox:
    """An open mailbox. `validity` says for how long its numbers mean the same (RFC 3501)."""

    def __init__(self, box: BaseMailBox, interrupt: Interrupt) -> None:
        """Wrap a line on which somebody is signed in and a mailbox is open."""
        self._box = box
        self._client: Any = box.client
        self._interrupt = interrupt
        self.validity = self._number("UIDVALIDITY")
        self._following = self._number("UIDNEXT")
        self.waits = "IDLE" in self._abilities()

    def last_uid(self) -> int:
        """Return the highest number that a mail has, or had."""
        if self._following:
            return self._following - 1
        return max(self._search("UID *"), default=0)

    def after(self, uid: int) -> Sequence[int]:
        """Return numbers beyond one, in the order in which their mails arrived.

        None only where there are no more; of very many the first, so that what follows is asked for
        with the last of them.
        """
        while uid + _MOST_NUMBERS < self._following:
            found = self._search(f"UID {uid + 1}:{uid + _MOST_NUMBERS}")
            if found:
                return sorted(found)
            uid += _MOST_NUMBERS
        # The last mail is in every such range, even where its number is lower.
        return sorted(n for n in self._search(f"UID {uid + 1}:*") if n > uid)

    def since(self, moment: float) -> Sequence[int]:
        """Return the numbers of mails that arrived on the day of a moment, or later."""
        # A day earlier: its days are those of the server's zone.
        day = imaplib.Time2Internaldate(max(moment - 86_400, 0.0)).strip('"').split()[0]
        return sorted(self._search(f"SINCE {day}"))

    def existing(self, uids: Sequence[int]) -> Sequence[int]:
        """Return which of these mails are in the mailbox."""
        wanted = set(uids)
        found = self._search(f"UID {','.join(map(str, uids))}") if uids else []
        return sorted(wanted.intersection(found))

    def heads(self, uids: Sequence[int], most: int) -> Mapping[int, Head]:
        """Return the headers of mails, or `most` bytes of each, as far as the server tells them.

        Raises Refused, also when it is for one of them alone.
        """
        numbers = ",".join(map(str, uids))
        wanted = f"(UID INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER]<0.{most}>)"
        return read_heads(self._fetch(numbers, wanted))

    def read(self, uid: int, most: int) -> bytes | None:
        """Return a mail, or its first `most` bytes; None without it. Raises Refused."""
        return read_literal(self._fetch(str(uid), f"(UID BODY.PEEK[]<0.{most}>)"), uid)

    def piece(self, uid: int, part: str, at: int) -> bytes:
        """Return the next piece of a part as it is encoded; empty at its end or when it is gone."""
        if _ATOM.fullmatch(part) is None:
            return b""
        wanted = f"(UID BODY.PEEK[{part}]<{at}.{_PIECE_BYTES}>)"
        return read_literal(self._fetch(str(uid), wanted), uid) or b""

    def newest_head(self, most: int) -> bytes:
        """Return the header of the newest mail; empty without one."""
        last = self._search("UID *")[-1:]
        heads = self.heads(last, most) if last else {}
        return b"".join(head.content for head in heads.values())

    def news(self) -> bool:
        """Whether the server told of mail since this was asked last."""
        told: object = self._client.response("EXISTS")[1][-1]
        return told is not None

    def ask(self) -> None:
        """Let the server tell what is new, as one does that cannot be waited for."""
        with _failing(self._interrupt):
            self._client.noop()

    def wait(self, seconds: float) -> None:
        """Wait until the server says anything, at most so long."""
        with _failing(self._interrupt):
            tag = self._idle()
            _await(self._client, time.monotonic() + seconds, self._interrupt)
            self._client.send(b"DONE\r\n")
            self._box.consume_until_tagged_response(tag)

    def _idle(self) -> bytes:
        tag: bytes = self._client._command("IDLE")
        # What is new may come before the server says that it waits.
        while self._client._get_response() is not None:
            if self._client.tagged_commands[tag]:
                raise ChannelError("the server does not wait as it promised", retryable=True)
        return tag

    def _number(self, name: str) -> int:
        told: bytes | None = self._client.response(name)[1][-1]
        return int(told) if told and told.isdigit() else 0

    def _abilities(self) -> Sequence[str]:
        with _failing(self._interrupt):
            # Asked again: before somebody is signed in, servers tell of less.
            told: Sequence[bytes | None] = self._client.capability()[1]
        return (told[-1] or b"").decode("ascii", "replace").upper().split()

    def _search(self, what: str) -> Sequence[int]:
        with _failing(self._interrupt):
            return [int(uid) for uid in self._box.uids(what, charset=None)]

    def _fetch(self, uids: str, what: str) -> Sequence[Any]:
        # A refused one may have left answers behind.
        self._client.response("FETCH")
        with _failing(self._interrupt), _bad_refused():
            state, answer = self._client.uid("FETCH", uids, what)
        if state != "OK":
            raise _refused()
        told: Sequence[Any] = answer
        return told


@contextmanager
def opened(settings: EmailSettings, password: str, interrupt: Interrupt) -> Iterator[Mailbox]:
    """Sign in and open the mailbox. Raises Unusable, ChannelError and Interrupted."""
    with _failing(interrupt):
        box = _connected(settings)
    plug = _plug(box.client.sock)
    try:
        with interrupt.freeing(plug.pull):
            with _failing(interrupt):
                _sign_in(box, settings, password)
                box.client.sock.settimeout(_ANSWER_SECONDS)
                box.folder.set(settings.mailbox, readonly=True)
            yield Mailbox(box, interrupt)
    finally:
        plug.close()
        with suppress(OSError, imaplib.IMAP4.error):
            box.client.shutdown()


def _connected(settings: EmailSettings) -> BaseMailBox:
    host, port = settings.imap_host, settings.imap_port
    if settings.imap_tls is Tls.TLS:
        return MailBox(host, port, _CONNECT_SECONDS, ssl_context=trusted("mail"))
    if settings.imap_tls is Tls.STARTTLS:
        return MailBoxStartTls(host, port, _CONNECT_SECONDS, ssl_context=trusted("mail"))
    return MailBoxUnencrypted(host, port, _CONNECT_SECONDS)


def _sign_in(box: BaseMailBox, settings: EmailSettings, password: str) -> None:
    try:
        box.login(settings.user, password, initial_folder=None)
    except MailboxLoginError as error:
        said = b" ".join(map(_raw, error.command_result[1]))
        if _LATER.search(said):
            raise
        raise Unusable(_refusal(settings)) from None
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error:
        raise Unusable(_refusal(settings)) from None


def _refusal(settings: EmailSettings) -> str:
    return (
        f"{settings.imap_host} does not take user and password; many providers want a password"
        " made for one app"
    )


def _plug(sock: socket.socket) -> Plug:
    # A line with TLS cannot be duplicated as it is.
    with socket.socket(fileno=os.dup(sock.fileno())) as bare:
        return Plug(bare)


@contextmanager
def _failing(interrupt: Interrupt) -> Iterator[None]:
    """Turn what the library and the line raise into what the house knows."""
    try:
        yield
    except MailboxFolderSelectError as error:
        raise Unusable(f"the mailbox cannot be opened: {_told(error)}") from None
    except ssl.SSLCertVerificationError as error:
        raise Unusable(f"the server's certificate is not valid: {error.verify_message}") from None
    except (ImapToolsError, imaplib.IMAP4.error, OSError, ValueError) as error:
        interrupt.check()
        kind = type(error).__name__
        raise ChannelError(f"the line to the mailbox broke ({kind})", retryable=True) from None


@contextmanager
def _bad_refused() -> Iterator[None]:
    """Tell BAD, which the library raises as it does what breaks a line."""
    try:
        yield
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        if _BAD.search(str(error)) is None:
            raise
        raise _refused() from None


def _refused() -> Refused:
    return Refused("the server answers that it does not give it out", retryable=True)


def _told(error: MailboxFolderSelectError) -> str:
    return b" ".join(map(_raw, error.command_result[1])).decode("utf-8", "replace")[:200]


def _raw(said: object) -> bytes:
    return said if isinstance(said, bytes) else str(said).encode()


def _await(client: Any, until: float, interrupt: Interrupt) -> None:
    """Return once the line has anything to read, or at the end of the time.

    What was read ahead together with an earlier answer counts, too.
    """
    sock, poll = client.sock, select.poll()
    poll.register(sock, select.POLLIN)
    ahead = getattr(client, "_file", None) or client.file
    before, ready = sock.gettimeout(), False
    sock.settimeout(0)
    try:
        while (left := until - time.monotonic()) > 0:
            with suppress(ssl.SSLWantReadError):
                if ahead.peek(1):
                    return
                if ready:
                    raise OSError("the server closed the line")
            ready = bool(poll.poll(left * 1000))
            interrupt.check()
    finally:
        sock.settimeout(before)
