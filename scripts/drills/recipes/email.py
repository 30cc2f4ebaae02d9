"""A mailbox whose people write while what listens and what answers is killed.

Both servers are real ones, Dovecot and aiosmtpd; mails come twice under one Message-ID.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from scripts.drills import people
from scripts.drills.people import Seen
from scripts.drills.report import Plan, Result
from scripts.harness.progress import Progress
from tests.fakes import platform, smtp_server
from tests.fakes.dovecot_server import PASSWORD, Dovecot, dovecot
from tests.fakes.letters import email_account, letter
from tests.fakes.smtp_server import SmtpServer

_MAILBOX = "INBOX"


def run(plan: Plan, progress: Progress) -> Result:
    """Run the drill between the two servers."""
    with dovecot() as imap, SmtpServer() as smtp:
        return people.run(plan, progress, _Email(imap, smtp))


class _Email:
    name = "email"
    orderly = True
    # Whether all of it is stored is seen at the records.
    waiting = False

    def __init__(self, imap: Dovecot, smtp: SmtpServer) -> None:
        self._imap = imap
        self._smtp = smtp
        self._written = 0
        self._busy = cycle([smtp_server.Plan("rcpt", 451), smtp_server.Plan("dot", 421)])
        self._lost = cycle([smtp_server.DROP_WITHIN, smtp_server.DROP_BEFORE])

    @property
    def account(self) -> str:
        # Who writes first does so before anybody listens.
        settings = {"type": "email", **email_account(self._imap, self._smtp), "read_old": "true"}
        settings |= {"messages_per_hour": "null", "messages_per_day": "null"}
        return ", ".join(f"{name}: {value}" for name, value in settings.items())

    @property
    def variables(self) -> Mapping[str, str]:
        return {"MAIL_PASSWORD": PASSWORD}

    def write(self, chat: int, word: str, *, twice: bool) -> None:
        self._written += 1
        thread = f"<thread{chat}@example.com>"
        known = f"mail{self._written}@example.com"
        mail = letter(word, f"p{chat}@example.com", known=known, References=thread)
        self._imap.deliver(_MAILBOX, *([mail, mail] if twice else [mail]))

    def refuse(self) -> None:
        self._smtp.plans.append(next(self._busy))

    def break_off(self, plan: platform.Plan) -> None:
        lost = next(self._lost)
        self._smtp.plans.append(smtp_server.DROP_AFTER if plan.take else lost)

    @property
    def shown(self) -> Sequence[Seen]:
        return [Seen(_chat(one.recipient), one.text) for one in list(self._smtp.shown)]

    @property
    def sends(self) -> int:
        return len(self._smtp.posts)

    @property
    def faults(self) -> Sequence[str]:
        return self._smtp.faults


def _chat(recipient: str) -> int:
    return int(recipient.partition("@")[0].removeprefix("p"))
