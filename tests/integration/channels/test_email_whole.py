"""From a person's mail to the answer in their mailbox: the real house between real servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.fakes.dovecot_server import PASSWORD, Dovecot
from tests.fakes.letters import letter
from tests.fakes.model_server import ModelServer
from tests.fakes.smtp_server import DROP_AFTER, DROP_BEFORE, Plan, SmtpServer
from tests.fakes.stack import Stack, until
from tests.integration.web.served import Served

House = Callable[..., Stack]


@pytest.fixture
def houses(
    tmp_path: Path,
    database_url: str,
    redis_url: str,
    email_settings: Mapping[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[House]:
    """Make the house with its account, with more settings."""
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    people = ["alice@example.com", *(f"p{n}@example.com" for n in range(4))]
    account = {"type": "email", "allow_from": people, "messages_per_minute": None}
    made: list[Stack] = []

    def make(**more: Any) -> Stack:
        routes = json.dumps(more.pop("routes", []))
        config = json.dumps({"post": {**account, **email_settings, **more}})
        lines = f"channels: {config}\nroutes: {routes}"
        made.append(Stack(tmp_path, database_url, redis_url, model, lines))
        return made[0]

    with ModelServer() as model:
        yield make
        for one in made:
            one.close()


@pytest.fixture
def house(houses: House) -> Stack:
    return houses()


@contextmanager
def listening(house: Stack) -> Iterator[None]:
    """Have the mailbox listened to."""
    supervisor = house.container.supervisor()
    supervisor.start()
    try:
        yield
    finally:
        supervisor.stop()


def rows(house: Stack, statement: str) -> list[Any]:
    """Return what a statement finds."""
    return list(house.container.database.run(text(statement)))


def stands(house: Stack) -> bool:
    """Whether the account knows from where it goes on."""
    return bool(rows(house, "SELECT 1 FROM channel_state WHERE name = 'position'"))


def test_a_mail_is_answered_in_its_thread(
    house: Stack, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(mailbox, letter("hello", subject="Tea", known="m1@example.com"))
        until(lambda: smtp.shown)
    (shown,) = smtp.shown
    assert (shown.sender, shown.recipient) == ("hab@example.org", "alice@example.com")
    assert shown.text == "echo: Tea\n\nhello"
    assert shown.mail["subject"] == "Re: Tea"
    assert shown.mail["in-reply-to"] == "<m1@example.com>"
    assert shown.mail["auto-submitted"] == "auto-replied"


def test_a_reply_to_the_answer_goes_on_with_the_conversation(
    house: Stack, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    """Its program keeps no list of references, so the id of the answer alone leads there."""
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(mailbox, letter("one", subject="Tea", known="m1@example.com"))
        until(lambda: smtp.shown)
        answered = str(smtp.shown[0].mail["message-id"])
        said = "two\n\nOn 1 Jan 2024, Hab <hab@example.org> wrote:\n> echo: Tea\n>\n> one"
        imap.deliver(mailbox, letter(said, subject="Re: Tea", In_Reply_To=answered))
        until(lambda: len(smtp.shown) == 2)
    assert smtp.shown[1].text == "echo: two"
    assert smtp.shown[1].mail["subject"] == "Re: Tea"
    assert str(smtp.shown[1].mail["references"]).split()[0] == "<m1@example.com>"
    assert len(rows(house, "SELECT id FROM conversations WHERE channel = 'email'")) == 1


def test_nobody_and_no_program_is_answered(
    house: Stack, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(
            mailbox,
            letter("I say that I am Alice", proven=False),
            letter("I am not here", Auto_Submitted="auto-replied"),
            letter("I could not be delivered", "mailer-daemon@example.com"),
            letter("I am you", "hab@example.org"),
            letter("hello"),
        )
        until(lambda: smtp.shown)
    assert [one.text for one in smtp.shown] == ["echo: hello"]
    assert len(rows(house, "SELECT id FROM turns")) == 1


def test_a_stranger_is_told_a_code_and_nothing_of_theirs_is_kept(
    house: Stack, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(mailbox, letter("let me in", "eve@example.net", subject="Hi"))
        until(lambda: smtp.shown)
    (shown,) = smtp.shown
    assert shown.recipient == "eve@example.net"
    assert "I do not know you yet" in shown.text
    assert shown.mail["subject"] == "Re: Hi"
    assert rows(house, "SELECT id FROM turns") == []


def test_capital_letters_are_small_ones_in_mails_and_in_settings(
    houses: House, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    route = {"sender": "ALICE@example.com", "agent": "reader"}
    house = houses(allow_from=["Alice@EXAMPLE.com"], routes=[route])
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(mailbox, letter("hello", "aLICE@Example.com"))
        until(lambda: smtp.shown)
    assert smtp.shown[0].text == "echo: hello"
    (found,) = rows(house, "SELECT agent FROM conversations WHERE channel = 'email'")
    assert found.agent == "reader"


def test_a_program_that_marks_its_answers_by_nothing_comes_to_an_end(
    houses: House, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    """Each of two that answer whatever comes would go on for days (K60)."""
    house = houses(messages_per_hour=4)
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(mailbox, letter("hello", subject="Tea", known="m@example.com"))
        for number in range(5):
            until(lambda: len(smtp.shown) > number)  # noqa: B023 - awaited here
            answered, known = str(smtp.shown[number].mail["message-id"]), f"m{number}@example.com"
            mail = letter("I am away", subject="Re: Tea", known=known, In_Reply_To=answered)
            (last,) = imap.deliver(mailbox, mail)
        stood = "SELECT (value ->> 'uid')::int AS uid FROM channel_state WHERE name = 'position'"
        until(lambda: rows(house, stood)[0].uid == last)
    assert "more than 4 messages in one hour" in smtp.shown[-1].text
    assert len(rows(house, "SELECT id FROM turns")) == 4
    assert len(rows(house, "SELECT id FROM deliveries")) == len(smtp.shown) == 5


def test_an_approval_is_given_by_a_word(
    houses: House, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    house = houses(agent="careful")
    house.start()
    with listening(house):
        until(lambda: stands(house))
        act = "[[tool effect {}]] go"
        imap.deliver(mailbox, letter(act, known="m1@example.com"))
        until(lambda: smtp.shown)
        assert smtp.shown[0].text.startswith("May careful run effect?")
        house.read_questions()
        said = f"Yes\n\nSent from my phone\n\nOn 1 Jan 2024, Hab <hab@example.org> wrote:\n> {act}"
        question = str(smtp.shown[0].mail["message-id"])
        imap.deliver(mailbox, letter(said, subject="Re: May", In_Reply_To=question))
        until(lambda: len(smtp.shown) == 2)
    assert len(house.trace("effects.log", "careful")) == 1


def test_an_address_that_is_not_there_denies_the_question(
    houses: House, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    """Nobody will see it, so the turn goes on at once (case K55)."""
    house = houses(agent="careful")
    smtp.closed.add("alice@example.com")
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(mailbox, letter("[[tool effect {}]] go"))
        until(lambda: rows(house, "SELECT id FROM turns WHERE ended IS NOT NULL"))
    assert house.trace("effects.log", "careful") == []


def test_each_is_answered_once_and_in_order_through_refusals_and_breaks(
    house: Stack, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    """Every mail comes again under its id, to a poller that begins anew at its first number."""
    plans = [None, Plan("rcpt", 451), DROP_AFTER, Plan("data"), None, DROP_BEFORE, Plan("dot", 421)]
    smtp.plans.extend(plans)
    people = [f"p{n}@example.com" for n in range(4)]
    mails = [
        letter(f"m{n}", who, known=f"{n}.{who}", References=f"<t.{who}>")
        for n in range(5)
        for who in people
    ]
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(mailbox, *mails)
        until(lambda: len(rows(house, "SELECT id FROM turns")) == len(mails))
    house.container.database.run(
        text("UPDATE channel_state SET value = value || '{\"uid\": 0}' WHERE name = 'position'")
    )
    last = imap.deliver(mailbox, *mails)[-1]
    with listening(house):
        stood = (
            f"SELECT 1 FROM channel_state WHERE name = 'position' AND value ->> 'uid' = '{last}'"
        )
        until(lambda: rows(house, stood))
        sent = "SELECT id FROM deliveries WHERE state = 'sent'"
        until(lambda: len(rows(house, sent)) == len(mails))
    for who in people:
        seen = [one.text for one in smtp.shown if one.recipient == who]
        assert list(dict.fromkeys(seen)) == [f"echo: m{n}" for n in range(5)]
    (doubtful,) = rows(house, "SELECT sum(uncertain) AS times FROM delivery_chunks")
    # Seen twice only where a line broke behind a mail, and each of those is counted.
    assert len(smtp.shown) == len(mails) + plans.count(DROP_AFTER)
    assert doubtful.times == plans.count(DROP_AFTER) + plans.count(DROP_BEFORE)
    assert len({one.mail["message-id"] for one in smtp.shown}) == len(mails)


def test_nothing_is_brought_by_http(house: Stack) -> None:
    with Served(house) as served:
        told = served.client.post("/channels/post", content=letter("hello"))
    assert told.status_code == 401


def test_files_come_and_go_with_mails(
    house: Stack, imap: Dovecot, mailbox: str, smtp: SmtpServer
) -> None:
    """What came is outside content, whoever sent it: its turn is marked so."""
    brought = EmailMessage()
    brought["From"], brought["To"] = "alice@example.com", "hab@example.org"
    brought["Authentication-Results"] = "mx.example.org; dmarc=pass header.from=example.com"
    brought.set_content('[[tool send_file {"path": "mine.bin"}]] go')
    content = bytes(range(256)) * 300
    brought.add_attachment(content, maintype="application", subtype="zip", filename="a b.zip")
    workspace = house.home / "agents" / "habakkuk" / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "mine.bin").write_bytes(content[::-1])
    house.start()
    with listening(house):
        until(lambda: stands(house))
        imap.deliver(mailbox, brought.as_bytes())
        until(lambda: len(smtp.shown) == 2)
    (came,) = (workspace / "inbox").iterdir()
    assert came.read_bytes() == content
    (sent,) = smtp.shown[0].mail.iter_attachments()
    assert isinstance(sent, EmailMessage)
    assert (sent.get_filename(), sent.get_content()) == ("mine.bin", content[::-1])
    assert [row.tainted for row in rows(house, "SELECT tainted FROM turns")] == [True]
