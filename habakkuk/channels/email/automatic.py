"""Whether a machine wrote a mail by itself: an answer would go round for ever (case K60).

RFC 3834 asks that such mail is not answered; what is older than it has marks of its own.
"""

from __future__ import annotations

import re
from email.message import Message

from habakkuk.channels.email import headers

_BULK = {"bulk", "junk", "list", "auto_reply"}
# Each alone says that a list, a newsletter or a machine sent it.
_MARKS = (
    "list-id",
    "list-unsubscribe",
    "list-post",
    "x-auto-response-suppress",
    "x-autoreply",
    "x-autorespond",
    "x-autoresponder",
    "x-failed-recipients",
    "feedback-id",
)
_REPORTS = {"multipart/report", "message/delivery-status", "message/disposition-notification"}
_MACHINES = re.compile(
    r"(mailer-daemon|postmaster|mail-daemon|(do[._-]?not|dont|no|never)[._-]?reply)"
    r"([+._-].*)?|.*[+._-](do[._-]?not|no)[._-]?reply"
)

# What programs for mail set before the subject when somebody is away; some say it nowhere else.
_AWAY = re.compile(
    r"(auto(matic|mated)?[- ]?(reply|response)|out of (the )?office|automatische antwort"
    r"|abwesenheitsnotiz|réponse automatique|respuesta automática|resposta automática"
    r"|risposta automatica|automatisch antwoord|autosvar|автоответ|自动回复|自動回覆|自動返信"
    r"|자동 회신)\b",
    re.IGNORECASE,
)


def is_automatic(mail: Message, sender: str) -> bool:
    """Tell whether nobody sits where this came from."""
    said = headers.first(mail, "auto-submitted").partition(";")[0].strip()
    if said not in {"", "no"} or headers.first(mail, "precedence").strip() in _BULK:
        return True
    if any(mark in mail for mark in _MARKS) or mail.get_content_type() in _REPORTS:
        return True
    if _AWAY.match(headers.decoded(mail, "subject")):
        return True
    paths = headers.raw(mail, "return-path")
    return (bool(paths) and paths[0] == "<>") or _is_machine(sender)


def _is_machine(sender: str) -> bool:
    return _MACHINES.fullmatch(sender.rpartition("@")[0]) is not None
