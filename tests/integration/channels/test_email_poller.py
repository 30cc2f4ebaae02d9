"""Mail out of a real mailbox, in order and none of it twice (cases: K1, K6, K8, K60)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any

import pytest

from habakkuk.channels.email.adapter import EmailAdapter
from habakkuk.channels.email.poller import EmailPoller
from habakkuk.channels.messages import InboundMessage, Source
from habakkuk.channels.polling import Unusable
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupted
from tests.fakes.dovecot_server import Dovecot, dovecot
from tests.fakes.letters import letter
from tests.fakes.listening import Desk, Running
from tests.fakes.stack import until

Mail = Callable[..., EmailAdapter]
Start = Callable[..., Running]


@pytest.fixture
def start(mail: Mail) -> Iterator[Start]:
    """Start pollers of the account; each is stopped at the end."""
    started: list[Running] = []

    def make(desk: Desk | None = None, adapter: EmailAdapter | None = None, **more: Any) -> Running:
        made = Running(EmailPoller(adapter or mail()), desk or Desk(), **more)
        started.append(made)
        return made

    yield make
    for one in started:
        one.stop()


@pytest.fixture
def listened(start: Start) -> Desk:
    """The desk of a poller that listens to the empty mailbox."""
    desk = Desk()
    start(desk)
    until(lambda: desk.place is not None)
    return desk


def test_mail_comes_in_the_order_of_its_arrival_and_at_once(
    imap: Dovecot, mailbox: str, listened: Desk
) -> None:
    imap.deliver(mailbox, *(letter(f"m{n}") for n in range(3)))
    until(lambda: len(listened.texts) == 3)
    imap.deliver(mailbox, *(letter(f"m{n}") for n in range(3, 5)))
    until(lambda: listened.texts == [f"m{n}" for n in range(5)])
    assert imap.flags(mailbox) <= {b"\\Recent"}


def test_what_lay_there_before_the_first_start_is_left(
    imap: Dovecot, mailbox: str, start: Start
) -> None:
    imap.deliver(mailbox, letter("old"))
    desk = Desk()
    running = start(desk)
    until(lambda: desk.place is not None)
    running.stop()
    # The first start counts, not the first mail.
    imap.deliver(mailbox, letter("new"))
    start(desk)
    until(lambda: desk.texts == ["new"])


def test_what_lay_there_is_read_where_that_is_wanted(
    imap: Dovecot, mailbox: str, start: Start, mail: Mail
) -> None:
    imap.deliver(mailbox, letter("old"))
    desk = Desk()
    start(desk, mail(read_old=True))
    until(lambda: desk.texts == ["old"])


def test_it_goes_on_where_the_last_one_was_stored(
    imap: Dovecot, mailbox: str, start: Start
) -> None:
    desk = Desk()
    first = start(desk)
    until(lambda: desk.place is not None)
    imap.deliver(mailbox, letter("one"))
    until(lambda: desk.texts == ["one"])
    assert isinstance(first.stop(), Interrupted)
    imap.deliver(mailbox, *(letter(f"m{n}") for n in range(6)))
    start(desk)
    until(lambda: desk.texts == ["one", *(f"m{n}" for n in range(6))])


def test_what_is_not_stored_is_not_passed(imap: Dovecot, mailbox: str, start: Start) -> None:
    desk = Desk()
    first = start(desk)
    until(lambda: desk.place is not None)
    before = desk.place
    desk.refuses = 10**9
    imap.deliver(mailbox, letter("one"))
    until(lambda: desk.refuses < 10**9 - 2)
    first.stop()
    assert desk.place == before
    desk.refuses = 0
    start(desk)
    until(lambda: desk.texts == ["one"])


def test_what_is_nobodys_is_passed_over_for_good(
    imap: Dovecot, mailbox: str, listened: Desk
) -> None:
    forged = letter("I am Alice", proven=False)
    (uid,) = imap.deliver(mailbox, forged)
    until(lambda: listened.place is not None and listened.place["uid"] == uid)
    imap.deliver(mailbox, letter("after"))
    until(lambda: listened.texts == ["after"])


def test_what_programs_send_is_handed_over_as_such(
    imap: Dovecot, mailbox: str, listened: Desk
) -> None:
    imap.deliver(mailbox, letter("away", Auto_Submitted="auto-replied"))
    until(lambda: listened.turned_away)
    (read,) = listened.turned_away
    assert isinstance(read, InboundMessage)
    assert read.source is Source.AUTOMATIC


def test_a_mail_that_went_holds_nothing_up(imap: Dovecot, mailbox: str, start: Start) -> None:
    desk = Desk()
    running = start(desk)
    until(lambda: desk.place is not None)
    running.stop()
    uids = imap.deliver(mailbox, letter("one"), letter("two"), letter("three"))
    imap.remove(mailbox, uids[1])
    start(desk)
    until(lambda: desk.texts == ["one", "three"])


def test_new_numbers_bring_what_is_new_alone(imap: Dovecot, mailbox: str, start: Start) -> None:
    day = 86_400
    imap.deliver(mailbox, letter("old", known="m0@x.example"), moment=time.time() - 3 * day)
    desk = Desk()
    running = start(desk)
    until(lambda: desk.place is not None)
    imap.deliver(mailbox, letter("one", known="m1@x.example"))
    until(lambda: desk.texts == ["one"])
    running.stop()
    imap.deliver(mailbox, letter("two", known="m2@x.example"))
    imap.make_anew(mailbox)
    again = start(desk)
    until(lambda: "two" in desk.texts)
    # What is known is known by its id.
    assert {one.id for one in desk.messages} == {"m1@x.example", "m2@x.example"}
    imap.deliver(mailbox, letter("three"))
    until(lambda: desk.texts[-1] == "three")
    again.stop()


def _dated(mail: bytes, field: str, moment: float) -> bytes:
    """Return a mail with a date of then in a field, and in no other of that name."""
    name, _, before = field.partition(": ")
    kept = [line for line in mail.split(b"\r\n") if not line.startswith(name.encode() + b":")]
    said = f"{name}: {before}{formatdate(moment)}"
    return b"\r\n".join([kept[0], said.encode(), *kept[1:]])


def test_new_numbers_bring_what_says_that_it_is_old_but_came_now(
    imap: Dovecot, mailbox: str, start: Start
) -> None:
    """A clock may be wrong, and a mail may wait for days in an outbox: the server knows better."""
    desk = Desk()
    running = start(desk)
    until(lambda: desk.place is not None)
    imap.deliver(mailbox, letter("one"))
    until(lambda: desk.texts == ["one"])
    running.stop()
    imap.deliver(mailbox, _dated(letter("late"), "Date", time.time() - 30 * 86_400))
    imap.make_anew(mailbox)
    start(desk)
    until(lambda: "late" in desk.texts)


def test_old_mail_that_moved_with_new_dates_is_not_read_and_that_is_said(
    imap: Dovecot, mailbox: str, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mailbox that moved to another server may have all its mails as if they came today."""
    desk = Desk()
    running = start(desk)
    until(lambda: desk.place is not None)
    imap.deliver(mailbox, letter("one"))
    until(lambda: desk.texts == ["one"])
    running.stop()
    then = time.time() - 30 * 86_400
    moved = _dated(letter("old"), "Received: from a by b; ", then)
    (uid,) = imap.deliver(mailbox, moved)
    imap.make_anew(mailbox)
    start(desk)
    imap.deliver(mailbox, letter("new"))
    until(lambda: "new" in desk.texts)
    assert "old" not in desk.texts
    said = [line for line in capsys.readouterr().err.splitlines() if "is not read again" in line]
    assert [f"uid={uid}" in line for line in said] == [True]


def test_a_place_in_another_mailbox_means_nothing(
    imap: Dovecot, mailbox: str, start: Start
) -> None:
    desk = Desk()
    desk.place = {"box": "another", "validity": 1, "uid": 10**6, "seen": time.time()}
    start(desk)
    until(lambda: desk.place is not None and desk.place["box"] != "another")
    imap.deliver(mailbox, letter("one"))
    until(lambda: desk.texts == ["one"])


def test_a_line_that_ends_is_left_to_the_supervisor(
    imap: Dovecot, mailbox: str, start: Start
) -> None:
    desk = Desk()
    running = start(desk)
    until(lambda: desk.place is not None)
    imap.cut_all()
    ended = running.end()
    assert isinstance(ended, ChannelError)
    assert not isinstance(ended, Unusable)
    assert ended.retryable


def test_waiting_is_renewed(imap: Dovecot, mailbox: str, start: Start) -> None:
    desk = Desk()
    start(desk, idle_seconds=0.05)
    until(lambda: desk.beats > 5)
    imap.deliver(mailbox, letter("one"))
    until(lambda: desk.texts == ["one"])


def test_a_server_without_idle_is_asked(mail: Mail, start: Start, mailbox: str) -> None:
    with dovecot(abilities="IMAP4rev1 UIDPLUS") as plain:
        desk = Desk()
        adapter = mail(imap_port=plain.port, mailbox="INBOX")
        running = start(desk, adapter, ask_seconds=0.05)
        until(lambda: desk.place is not None)
        plain.deliver("INBOX", letter("one"))
        until(lambda: desk.texts == ["one"])
        running.stop()


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_lines_are_safe_and_can_be_cut(
    imap: Dovecot,
    mailbox: str,
    mail: Mail,
    start: Start,
    tls: str,
) -> None:
    port = imap.tls_port if tls == "tls" else imap.port
    desk = Desk()
    running = start(desk, mail(imap_port=port, imap_tls=tls))
    until(lambda: desk.place is not None)
    imap.deliver(mailbox, letter("one"))
    until(lambda: desk.texts == ["one"])
    assert isinstance(running.stop(), Interrupted)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"password": "wrong"}, "does not take user and password"),
        ({"mailbox": "nowhere"}, "mailbox cannot be opened"),
        ({"imap_tls": "starttls"}, "certificate is not valid"),
    ],
)
def test_what_only_a_person_can_mend_closes_the_account(
    mail: Mail, start: Start, more: dict[str, Any], said: str
) -> None:
    ended = start(adapter=mail(**more)).end()
    assert isinstance(ended, Unusable)
    assert said in str(ended)
    assert "wr" not in str(ended)


def test_nobody_there_is_left_to_the_supervisor(mail: Mail, start: Start) -> None:
    ended = start(adapter=mail(imap_port=1)).end()
    assert isinstance(ended, ChannelError)
    assert not isinstance(ended, Unusable)
    assert ended.retryable
