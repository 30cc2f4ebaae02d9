"""A mailbox of very many mails, whose numbers are more than the library takes on one line."""

from __future__ import annotations

import imaplib
from collections.abc import Callable

import pytest

from habakkuk.channels.email import imap as lines
from habakkuk.channels.email.adapter import EmailAdapter
from habakkuk.channels.email.poller import EmailPoller
from habakkuk.core.errors import ChannelError
from tests.fakes.dovecot_server import Dovecot
from tests.fakes.letters import CHECKER, letter
from tests.fakes.listening import Desk, Running
from tests.fakes.stack import until

Mail = Callable[..., EmailAdapter]
_MANY, _LONGEST_LINE = 400, 800


@pytest.fixture
def crowded(imap: Dovecot, mailbox: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A mailbox that is too large for the library, with both smaller than they are."""
    imap.deliver(mailbox, *(letter(f"m{n}") for n in range(_MANY)))
    monkeypatch.setattr(imaplib, "_MAXLINE", _LONGEST_LINE)
    monkeypatch.setattr(lines, "_MOST_NUMBERS", 150, raising=False)
    return mailbox


@pytest.mark.usefixtures("crowded")
def test_who_checks_senders_is_said_of_a_large_mailbox(mail: Mail) -> None:
    with pytest.raises(ChannelError, match=f"trusted_authserv: {CHECKER}"):
        mail(trusted_authserv=None).check()


def test_all_of_a_large_mailbox_are_read_in_their_order(
    imap: Dovecot, crowded: str, mail: Mail
) -> None:
    # A range in which nothing is left is no end.
    with imap.signed_in() as line:
        line.select(crowded)
        line.store("160:320", "+FLAGS", "(\\Deleted)")
        line.expunge()
    running = Running(EmailPoller(mail(read_old=True)), Desk())
    kept = [f"m{n}" for n in range(_MANY) if not 159 <= n < 320]
    until(lambda: running.ended is not None or len(running.desk.texts) == len(kept))
    assert running.ended is None
    assert running.desk.texts == kept
    imap.deliver(crowded, letter("the last"))
    until(lambda: running.desk.texts[-1] == "the last")
    running.stop()
