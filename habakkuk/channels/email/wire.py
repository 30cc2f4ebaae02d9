"""What a mail tells, read into a message; and the ids that tie an answer to its conversation.

A conversation is a sender and a thread: the id of the mail that began it. Ids of our own mails hold
their thread, so that a reply finds it even where a program keeps no list of references.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.message import Message

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.email import automatic, headers
from habakkuk.channels.email.addresses import author
from habakkuk.channels.email.parts import Part, read_parts
from habakkuk.channels.email.proof import doubt
from habakkuk.channels.email.quotes import without_quotes
from habakkuk.channels.email.reading import read_head, read_mail
from habakkuk.channels.messages import InboundMessage, RemoteFile, Source
from habakkuk.core.text import shorten

_LONGEST_SUBJECT = 200
_LONGEST_NAME = 100
_SEALED, _LONG = "an encrypted mail", "the rest of a text that is too long"
_LARGE = "the files of a mail that is too large"
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_OWN = re.compile(r"hab\.[0-9a-f]{32}\.([A-Za-z0-9_-]{0,700})@.+")
# An id that stands in no mail, so it is never answered to.
_MADE_UP = "@no-message-id.invalid"
_REPLY = re.compile(
    r"((re|aw|sv|antw|antwort|odp|ynt|vs|rif|res|ref|回复|回覆|答复|返信|답장)\s*(\[\d+\]|\(\d+\))?\s*[:：]\s*)+",
    re.IGNORECASE,
)
_FORWARD = re.compile(
    r"(fwd?|wg|tr|rv|enc|i|vs|vb|doorst|pd|转发|轉寄|転送|전달)\s*[:：]", re.IGNORECASE
)


class Unproven(WebhookUnreadable):
    """A mail of which nobody knows who wrote it."""


@dataclass(frozen=True)
class Place:
    """Where a mail lies: UIDVALIDITY and UID, with which its files are fetched later."""

    validity: int
    uid: int


@dataclass(frozen=True)
class Reader:
    """Reads the mails of one account.

    `own`: the addresses it goes by; `trusted`: whose word on senders counts; None: nobody's.
    Without `checks` any sender is believed.
    """

    own: frozenset[str]
    trusted: str | None
    checks: bool = True

    def glance(self, head: bytes) -> InboundMessage:
        """Return what a header tells: all but text and files. Raises as `read` does.

        A mail with neither Message-ID nor Received has another id then.
        """
        return self._headed(read_head(head), head)

    def read(self, content: bytes, place: Place, *, whole: bool = True) -> InboundMessage:
        """Return what a mail says. Raises WebhookUnreadable, and Unproven.

        Of one that is not whole the files are left out, since nobody knows which of them are.
        """
        mail = read_mail(content)
        headed = self._headed(mail, content)
        if headed.source is not Source.PERSON:
            # Its text is nobody's.
            return headed
        return _with_text(mail, headed, place if whole else None)

    def _headed(self, mail: Message, content: bytes) -> InboundMessage:
        found = author(headers.raw(mail, "from"))
        if found is None:
            raise Unproven("its From names nobody, or several")
        name, sender = found
        known = message_id(mail, content)
        source = self._source(mail, sender)
        if source is not Source.PERSON:
            return InboundMessage(known, sender, sender, "", source=source, outside=True)
        why = doubt(mail, sender, self.trusted) if self.checks else None
        if why is not None:
            raise Unproven(f"{sender}: {why}")
        return InboundMessage(
            id=known,
            chat=sender,
            sender=sender,
            text="",
            thread=_thread(mail, known)[0],
            sender_name=shorten(headers.unfolded(name), _LONGEST_NAME),
            outside=True,
            subject=shorten(headers.decoded(mail, "subject"), _LONGEST_SUBJECT),
        )

    def _source(self, mail: Message, sender: str) -> Source:
        if sender in self.own:
            return Source.OWN
        return Source.AUTOMATIC if automatic.is_automatic(mail, sender) else Source.PERSON


def message_id(mail: Message, content: bytes) -> str:
    """Return a mail's id; one without is known by its bytes, which stay what they are.

    The header is enough where a server wrote into it when it took the mail, and as what.
    """
    known = headers.ids(mail, "message-id")
    if known:
        return known[0]
    told = _HEADER_END.split(content, maxsplit=1)[0] if "received" in mail else content
    return f"{hashlib.sha256(told).hexdigest()[:32]}{_MADE_UP}"


def own_id(key: str, thread: str, domain: str) -> str:
    """Return the id of a mail of ours: the same for each repeat, and with its thread in it."""
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32]
    named = base64.urlsafe_b64encode(thread.encode("utf-8", "replace")).decode().rstrip("=")
    return f"hab.{digest}.{named}@{domain}"


def references(thread: str, reply_to: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return what a mail answers, and the ids that its program sorts it by."""
    above = [one for one in (thread, reply_to) if one and _is_real(one)]
    return (above[-1] if above else None), tuple(dict.fromkeys(above))


def answer_subject(subject: str, text: str) -> str:
    """Return the subject of an answer; of a mail that answers none, its first words."""
    if not subject:
        return shorten(text.lstrip("#*_>` \n").partition("\n")[0], 70) or "Habakkuk"
    return subject if _REPLY.match(subject) else f"Re: {subject}"


def _with_text(mail: Message, headed: InboundMessage, place: Place | None) -> InboundMessage:
    """Add text and files to what a header told; without a place the mail was cut."""
    body = read_parts(mail)
    bare = _bare(headed.subject)
    _, begins = _thread(mail, headed.id)
    said = without_quotes(body.text, forwarded=_FORWARD.match(bare) is not None)
    files = body.files if place and not body.sealed else ()
    lacks = {_SEALED: body.sealed, _LONG: body.cut, _LARGE: place is None}
    return replace(
        headed,
        text=_said(said, bare if begins else ""),
        unread=tuple(named for named, lacking in lacks.items() if lacking),
        files=tuple(_remote(part, place) for part in files if place),
    )


def _thread(mail: Message, known: str) -> tuple[str, bool]:
    """Return the thread of a mail, and whether the mail begins it."""
    above = [*headers.ids(mail, "references"), *headers.ids(mail, "in-reply-to")]
    for one in reversed(above):
        named = _thread_in(one)
        if named is not None:
            return named, False
    return (above[0], False) if above else (known, True)


def _thread_in(known: str) -> str | None:
    """Return the thread that an id of our own holds; None for any other id."""
    found = _OWN.fullmatch(known)
    if found is None:
        return None
    try:
        return base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)).decode()
    except (binascii.Error, ValueError):
        return None


def _said(text: str, subject: str) -> str:
    """Put the subject of a new thread before its text, unless that is a command."""
    if not subject or text.startswith("/"):
        return text
    return f"{subject}\n\n{text}" if text else subject


def _bare(subject: str) -> str:
    return _REPLY.sub("", subject, count=1) if _REPLY.match(subject) else subject


def _remote(part: Part, place: Place) -> RemoteFile:
    handle: Mapping[str, str | int] = {
        "validity": place.validity,
        "uid": place.uid,
        "part": part.number,
        "encoding": part.encoding,
    }
    return RemoteFile(part.name, part.mime, part.size, handle)


def _is_real(known: str) -> bool:
    return not known.endswith(_MADE_UP) and re.fullmatch(r"[!-;=?-~]{1,700}", known) is not None
