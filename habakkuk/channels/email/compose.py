"""One message of the house as a mail (RFC 5322): its Markdown, and a page that shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime

from habakkuk.channels.contract import NotSent
from habakkuk.channels.email import fields, wire
from habakkuk.channels.email.addresses import domain_of
from habakkuk.channels.email.render import page
from habakkuk.channels.messages import OutboundFile, OutboundMessage
from habakkuk.core.text import clean, shorten

_MIME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}/[a-z0-9][a-z0-9!#$&^_.+-]{0,60}")
_LONGEST_SUBJECT = 250
# Bodies of seven bits: every server takes them.
_POLICY = SMTP.clone(cte_type="7bit", refold_source="none")
_INTERNATIONAL = SMTPUTF8.clone(cte_type="7bit", refold_source="none")


@dataclass(frozen=True)
class Writer:
    """Writes the mails of one account, which goes by an address and a name."""

    address: str
    name: str

    def write(self, message: OutboundMessage, recipient: str) -> tuple[str, bytes]:
        """Return the id of a mail, and the mail as it goes over the line.

        Raises NotSent for a file that cannot be read.
        """
        known = wire.own_id(message.key, message.thread, domain_of(self.address))
        mail = EmailMessage(_POLICY if recipient.isascii() else _INTERNATIONAL)
        self._head(mail, message, recipient, known)
        text = clean(message.text)
        mail.set_content(text or "\n")
        mail.add_alternative(page(text), subtype="html")
        if message.file is not None:
            _attach(mail, message.file)
        return known, mail.as_bytes()

    def _head(
        self, mail: EmailMessage, message: OutboundMessage, recipient: str, known: str
    ) -> None:
        answers, above = wire.references(message.thread, message.reply_to)
        subject = wire.answer_subject(_line(message.subject), _line(message.text))
        # Raw: the library decodes what a field is made from, and a text that others wrote may say
        # `=?utf-8?q?=0A?=`. It would also encode ids that are longer than its lines.
        mail.set_raw("From", fields.address(_line(self.name), self.address))
        mail.set_raw("To", fields.address("", recipient))
        mail.set_raw("Subject", fields.text(shorten(subject, _LONGEST_SUBJECT), "Subject"))
        mail["Date"] = format_datetime(datetime.now(UTC))
        mail.set_raw("Message-ID", f"<{known}>")
        if answers is not None:
            mail.set_raw("In-Reply-To", f"<{answers}>")
            mail.set_raw("References", "\n ".join(f"<{one}>" for one in above))
        # No program that keeps to RFC 3834 answers this by itself, and Exchange neither (K60).
        mail["Auto-Submitted"] = "auto-replied" if answers is not None else "auto-generated"
        mail["X-Auto-Response-Suppress"] = "All"


def _line(text: str) -> str:
    """Return a text as one line: nothing in it can begin another header field."""
    return shorten(re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", clean(text)), _LONGEST_SUBJECT)


def _attach(mail: EmailMessage, file: OutboundFile) -> None:
    mime = file.mime.lower()
    main, _, sub = (mime if _MIME.fullmatch(mime) else "application/octet-stream").partition("/")
    if main in {"multipart", "message"}:
        main, sub = "application", "octet-stream"
    try:
        with file.open() as opened:
            content = opened.read()
    except OSError as error:
        raise NotSent(f"the file {_line(file.name)} cannot be read ({error.strerror})") from None
    mail.add_attachment(content, maintype=main, subtype=sub)
    # Raw, for the same reason as above.
    *_, part = mail.iter_attachments()
    del part["Content-Disposition"]
    part.set_raw("Content-Disposition", fields.attachment(_line(file.name) or "file"))
