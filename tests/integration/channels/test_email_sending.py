"""Mails over SMTP, and what becomes of each; files out of the mailbox (cases: K55, K60)."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage
from typing import Any, BinaryIO

import pytest

from habakkuk.channels.contract import Bounds, NotFetched, NotSent, OutcomeUnknown
from habakkuk.channels.email.adapter import EmailAdapter
from habakkuk.channels.email.wire import Place
from habakkuk.channels.messages import OutboundFile, OutboundMessage, RemoteFile
from habakkuk.core.errors import ChannelError
from tests.fakes.dovecot_server import PASSWORD, USER, Dovecot
from tests.fakes.letters import CHECKER, letter
from tests.fakes.smtp_server import DROP_AFTER, DROP_BEFORE, DROP_WITHIN, Plan, SmtpServer

Mail = Callable[..., EmailAdapter]
_MESSAGE = OutboundMessage(
    "key1",
    "alice@example.com",
    "m1@example.com",
    "**hello**",
    "answer",
    reply_to="m3@example.com",
    subject="Tea",
)


def test_an_answer_stands_below_what_it_answers(smtp: SmtpServer, mail: Mail) -> None:
    mail(display_name="Ha: bak, kuk").send(_MESSAGE)
    (shown,) = smtp.shown
    assert shown.mail["from"].addresses[0].display_name == "Ha: bak, kuk"
    assert shown.mail["subject"] == "Re: Tea"
    assert shown.mail["in-reply-to"] == "<m3@example.com>"
    assert shown.mail["references"] == "<m1@example.com> <m3@example.com>"
    assert shown.text == "**hello**"
    assert "<strong>hello</strong>" in shown.page


def test_a_repeat_is_known_by_its_id(smtp: SmtpServer, mail: Mail) -> None:
    receipts = {mail().send(_MESSAGE).id for _ in range(2)}
    other = mail().send(replace(_MESSAGE, key="key2"))
    assert [one.mail["message-id"] for one in smtp.shown[:2]] == [f"<{receipts.pop()}>"] * 2
    assert smtp.shown[2].mail["message-id"] == f"<{other.id}>"
    assert smtp.shown[1].mail["message-id"] != smtp.shown[2].mail["message-id"]


def test_programs_are_asked_not_to_answer(smtp: SmtpServer, mail: Mail) -> None:
    mail().send(_MESSAGE)
    mail().send(replace(_MESSAGE, thread="", reply_to=None, subject=""))
    said = [one.mail["auto-submitted"] for one in smtp.shown]
    assert said == ["auto-replied", "auto-generated"]
    assert smtp.shown[1].mail["subject"] == "hello**"


@pytest.mark.parametrize(
    "words", ["Tea\r\nBcc: eve@example.org", "Tea\nX-Evil: 1", "Tea\u2028Bcc: e@x", "\x00\x0bTea"]
)
def test_nothing_begins_a_header_of_its_own(smtp: SmtpServer, mail: Mail, words: str) -> None:
    file = OutboundFile(words, f"text/plain\r\n{words}", 2, lambda: io.BytesIO(b"hi"))
    odd = replace(_MESSAGE, subject=words, thread=words, reply_to=words, key=words, file=file)
    mail(display_name=words[:40]).send(odd)
    (shown,) = smtp.shown
    assert shown.recipient == "alice@example.com"
    assert {name.lower() for name in shown.mail} == {
        *("from", "to", "subject", "date", "message-id", "auto-submitted"),
        *("x-auto-response-suppress", "mime-version", "content-type"),
    }


def test_a_file_goes_with_what_is_said_of_it(smtp: SmtpServer, mail: Mail) -> None:
    content = bytes(range(256)) * 100
    file = OutboundFile("Größe 你.bin", "image/png", len(content), lambda: io.BytesIO(content))
    mail().send(replace(_MESSAGE, file=file))
    (shown,) = smtp.shown
    (attached,) = shown.mail.iter_attachments()
    assert isinstance(attached, EmailMessage)
    assert (attached.get_filename(), attached.get_content_type()) == ("Größe 你.bin", "image/png")
    assert attached.get_content() == content
    assert shown.text == "**hello**"


def test_a_file_that_went_is_not_sent(smtp: SmtpServer, mail: Mail) -> None:
    def gone() -> BinaryIO:
        raise FileNotFoundError(2, "No such file or directory")

    with pytest.raises(NotSent, match="cannot be read"):
        mail().send(replace(_MESSAGE, file=OutboundFile("a", "text/plain", 1, gone)))
    assert smtp.posts == []


def test_an_address_beyond_ascii_is_written_as_it_is(smtp: SmtpServer, mail: Mail) -> None:
    mail().send(replace(_MESSAGE, chat="用户@bücher.example"))
    (shown,) = smtp.shown
    assert shown.recipient == "用户@xn--bcher-kva.example"
    assert "\r\nTo: 用户@xn--bcher-kva.example\r\n".encode() in shown.raw


def test_a_server_that_does_not_know_such_addresses_is_not_asked_again(
    smtp: SmtpServer, mail: Mail
) -> None:
    smtp.international = False
    with pytest.raises(NotSent, match="beyond ASCII") as caught:
        mail().send(replace(_MESSAGE, chat="用户@example.com"))
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "chat", ["room", "", "a@b\r\nRCPT TO:<eve@example.org>", "a b@example.org", "<a@example.org>"]
)
def test_what_is_no_address_is_not_sent(smtp: SmtpServer, mail: Mail, chat: str) -> None:
    with pytest.raises(NotSent) as caught:
        mail().send(replace(_MESSAGE, chat=chat))
    assert not caught.value.retryable
    assert smtp.posts == []


def test_one_who_is_not_there_is_said_to_be_so(smtp: SmtpServer, mail: Mail) -> None:
    smtp.closed.add("alice@example.com")
    with pytest.raises(NotSent, match="no such mailbox") as caught:
        mail().send(_MESSAGE)
    assert not caught.value.retryable


@pytest.mark.parametrize("at", ["mail", "rcpt", "data"])
def test_a_line_that_breaks_before_the_mail_leaves_nothing_open(
    smtp: SmtpServer, mail: Mail, at: Any
) -> None:
    smtp.plans.append(Plan(at))
    with pytest.raises(NotSent) as caught:
        mail().send(_MESSAGE)
    assert caught.value.retryable


def test_a_line_that_breaks_within_a_mail_leaves_nothing_open(smtp: SmtpServer, mail: Mail) -> None:
    """What is on its way fills the line, so that its end cannot have been sent."""
    smtp.plans.append(DROP_WITHIN)
    content = bytes(15_000_000)
    file = OutboundFile("big", "image/png", len(content), lambda: io.BytesIO(content))
    with pytest.raises(NotSent) as caught:
        mail().send(replace(_MESSAGE, file=file))
    assert caught.value.retryable
    assert smtp.posts == []


@pytest.mark.parametrize(("plan", "arrived"), [(DROP_AFTER, 1), (DROP_BEFORE, 0)])
def test_a_line_that_breaks_after_the_dot_leaves_it_unknown(
    smtp: SmtpServer, mail: Mail, plan: Plan, arrived: int
) -> None:
    smtp.plans.append(plan)
    with pytest.raises(OutcomeUnknown):
        mail().send(_MESSAGE)
    assert len(smtp.shown) == arrived


def test_a_dot_alone_on_a_line_ends_nothing(smtp: SmtpServer, mail: Mail) -> None:
    said = "one\n.\n..\n.two\r\n\r\nthree\n"
    mail().send(replace(_MESSAGE, text=said))
    assert smtp.shown[0].text == "one\n.\n..\n.two\n\nthree"


def test_a_password_that_is_not_taken_is_not_tried_again(smtp: SmtpServer, mail: Mail) -> None:
    with pytest.raises(NotSent, match="user and password") as caught:
        mail(password="another one").send(_MESSAGE)
    assert not caught.value.retryable
    assert smtp.posts == []


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_lines_are_safe(mail: Mail, tls: Any) -> None:
    with SmtpServer(tls=tls) as server:
        mail(smtp_port=server.port, smtp_tls=tls).send(_MESSAGE)
        assert (len(server.shown), server.faults) == (1, [])


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_a_server_that_cannot_prove_itself_gets_no_password(mail: Mail, tls: Any) -> None:
    with SmtpServer(tls=tls) as server:
        with pytest.raises(NotSent, match="certificate is not valid"):
            mail(smtp_port=server.port, smtp_tls=tls).send(_MESSAGE)
        assert server.signed_in == 0


def test_a_server_without_tls_gets_no_password(smtp: SmtpServer, mail: Mail) -> None:
    with pytest.raises(NotSent, match="no TLS"):
        mail(smtp_tls="starttls").send(_MESSAGE)
    assert smtp.signed_in == 0


def test_both_servers_are_asked_who_it_is(mail: Mail) -> None:
    assert mail().check() == f"{USER}, read over IMAP, sent over SMTP"
    with pytest.raises(ChannelError, match="user and password"):
        mail(password="another").check()
    with pytest.raises(NotSent, match="line to the server broke"):
        mail(smtp_port=1).check()


def test_who_checks_senders_is_said(imap: Dovecot, mailbox: str, mail: Mail) -> None:
    with pytest.raises(ChannelError, match="no Authentication-Results"):
        mail(trusted_authserv=None).check()
    imap.deliver(mailbox, letter())
    with pytest.raises(ChannelError, match=f"trusted_authserv: {CHECKER}"):
        mail(trusted_authserv=None).check()


def test_what_is_not_checked_is_a_concern(mail: Mail) -> None:
    assert mail().concern is None
    assert mail(imap_host="imap.gmail.com", imap_tls="tls", trusted_authserv=None).concern is None
    for more in ({"check_sender": False}, {"trusted_authserv": None}):
        assert mail(**more).concern is not None


def _with_files() -> tuple[bytes, list[bytes]]:
    """Return a mail and what its files hold."""
    contents = [bytes(range(256)) * 9000, "Grüße\n".encode() * 50, b"%PDF"]
    made = EmailMessage()
    made["From"], made["To"], made["Message-ID"] = "alice@example.com", USER, "<f1@example.com>"
    made["Authentication-Results"] = f"{CHECKER}; dmarc=pass header.from=example.com"
    made.set_content("see there")
    made.add_attachment(contents[0], maintype="image", subtype="png", filename="a.png")
    made.add_attachment(contents[1].decode(), cte="quoted-printable", filename="b.txt")
    inner = EmailMessage()
    inner["Subject"] = "inner"
    inner.set_content("forwarded")
    inner.add_attachment(contents[2], maintype="application", subtype="pdf", filename="c.pdf")
    made.add_attachment(inner)
    return made.as_bytes(), [contents[0], contents[1], inner.as_bytes()]


@pytest.fixture
def files(imap: Dovecot, mailbox: str, mail: Mail) -> tuple[tuple[RemoteFile, ...], list[bytes]]:
    """The files of a mail in the mailbox, and what they hold."""
    sent, contents = _with_files()
    (uid,) = imap.deliver(mailbox, sent)
    with imap.signed_in() as line:
        line.select(mailbox)
        validity = int(line.response("UIDVALIDITY")[1][0] or 0)
    return mail().reader.read(sent, Place(validity, uid)).files, contents


def test_files_are_fetched_as_they_were_sent(
    files: tuple[tuple[RemoteFile, ...], list[bytes]], mail: Mail
) -> None:
    found, contents = files
    assert [(one.name, one.mime) for one in found] == [
        ("a.png", "image/png"),
        ("b.txt", "text/plain"),
        ("4-mail.eml", "message/rfc822"),
    ]
    assert [one.size for one in found] == [len(contents[0]), len(contents[1]), None]
    fetched = [b"".join(mail().fetch(one, Bounds(10**7))).replace(b"\r\n", b"\n") for one in found]
    assert fetched == contents


def test_a_file_that_is_too_long_is_not_fetched(
    files: tuple[tuple[RemoteFile, ...], list[bytes]], mail: Mail
) -> None:
    with pytest.raises(NotFetched, match="longer than 1000 bytes"):
        list(mail().fetch(files[0][0], Bounds(1000)))


def test_a_file_whose_mail_went_is_not_fetched(
    files: tuple[tuple[RemoteFile, ...], list[bytes]], imap: Dovecot, mailbox: str, mail: Mail
) -> None:
    (file, *_), _contents = files
    imap.remove(mailbox, file.handle["uid"])
    with pytest.raises(NotFetched, match="is gone"):
        list(mail().fetch(file, Bounds(10**7)))
    anew = replace(file, handle={**file.handle, "validity": 1})
    with pytest.raises(NotFetched, match="made anew"):
        list(mail().fetch(anew, Bounds(10**7)))


@pytest.mark.parametrize("fault", ["password", "dropped", "nobody there"])
def test_the_password_stands_in_no_error_and_no_log(
    smtp: SmtpServer, mail: Mail, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    caplog.set_level("DEBUG", "habakkuk")
    more = {"smtp_port": 1, "imap_port": 1} if fault == "nobody there" else {}
    if fault == "password":
        smtp.password = "another"
    if fault == "dropped":
        smtp.plans.append(DROP_AFTER)
    with pytest.raises(ChannelError) as caught:
        mail(**more).send(_MESSAGE)
    told = f"{caught.value!r} {caught.value.__cause__!r} {mail().account!r} {caplog.text}"
    assert PASSWORD not in told
