"""Mail as messages: who, which thread, what they said, what they sent along (case: K60)."""

from __future__ import annotations

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.email.wire import Place, Reader, answer_subject, own_id, references
from habakkuk.channels.messages import InboundMessage, Source
from tests.fakes.letters import CHECKER, letter

_READER = Reader(frozenset({"hab@example.org"}), CHECKER)
_OPEN = Reader(frozenset({"hab@example.org"}), None, checks=False)
_PLACE = Place(7, 42)


def _read(mail: bytes) -> InboundMessage:
    return _READER.read(mail, _PLACE)


def test_a_mail_is_its_senders() -> None:
    read = _read(letter("hello", "Alice Liddell <Alice@Example.COM>", known="m1@example.com"))
    assert (read.id, read.chat, read.sender) == (
        "m1@example.com",
        "alice@example.com",
        "alice@example.com",
    )
    assert (read.text, read.sender_name, read.source) == ("hello", "Alice Liddell", Source.PERSON)
    assert read.outside


@pytest.mark.parametrize(
    "written",
    [
        "Alice <alice@example.com>, Eve <eve@example.org>",
        "alice@example.com <eve@example.org>",
        "<alice@example.com> <eve@example.org>",
        "Friends: alice@example.com, eve@example.org;",
        "alice",
        "",
        "@example.com",
        "alice@",
        "alice@exa mple.com",
        '"alice@example.com',
        "alice@example.com\x00@example.org",
    ],
)
def test_a_from_that_can_be_read_in_two_ways_is_nobodys(written: str) -> None:
    """Who checked the sender may have read the other one (CVE-2023-27043)."""
    with pytest.raises(WebhookUnreadable):
        _OPEN.read(b"From: " + written.encode() + b"\r\n\r\nhi\r\n", _PLACE)


def test_two_from_fields_are_nobodys() -> None:
    with pytest.raises(WebhookUnreadable):
        _OPEN.read(b"From: alice@example.com\r\nFrom: eve@example.org\r\n\r\nhi", _PLACE)


@pytest.mark.parametrize(
    ("written", "name", "address"),
    [
        ('"Liddell, Alice" <a@example.com>', "Liddell, Alice", "a@example.com"),
        ('"a@example.com" <a@example.com>', "a@example.com", "a@example.com"),
        ("a@example.com (Alice)", "Alice", "a@example.com"),
        ("=?utf-8?q?Al=C3=ADce=40x?= <a@example.com>", "Alíce@x", "a@example.com"),
        ("<a@bücher.example>", "", "a@xn--bcher-kva.example"),
        ("用户 <用户@example.com>", "用户", "用户@example.com"),
    ],
)
def test_names_and_addresses_are_taken_as_they_are_meant(
    written: str, name: str, address: str
) -> None:
    read = _OPEN.read(f"From: {written}\r\n\r\nhi".encode(), _PLACE)
    assert (read.sender_name, read.sender) == (name, address)


def test_who_is_not_proven_is_not_read() -> None:
    with pytest.raises(WebhookUnreadable, match="no check of it"):
        _read(letter(proven=False, Authentication_Results=f"{CHECKER}; dmarc=fail"))


def test_a_mail_without_an_id_keeps_the_one_that_it_is_given() -> None:
    mail = letter("hello")
    assert _read(mail).id == _read(mail).id != _read(letter("hello you")).id
    assert references(_read(mail).thread, _read(mail).id) == (None, ())


@pytest.mark.parametrize(
    ("more", "thread"),
    [
        ({}, "m9@example.com"),
        ({"References": "<m1@x> <m2@x>", "In_Reply_To": "<m2@x>"}, "m1@x"),
        ({"In_Reply_To": "<m2@x>"}, "m2@x"),
        ({"In_Reply_To": "words without an id"}, "m9@example.com"),
        ({"In_Reply_To": f"<{own_id('k', 'm1@x', 'example.org')}>"}, "m1@x"),
        ({"References": f"<other@y> <{own_id('k', 'm1@x', 'example.org')}>"}, "m1@x"),
        # A conversation that was begun from here, without a mail before.
        ({"In_Reply_To": f"<{own_id('k', '', 'example.org')}>"}, ""),
        ({"In_Reply_To": "<hab.00000000000000000000000000000000.!@x>"}, None),
    ],
)
def test_a_reply_finds_its_thread(more: dict[str, Any], thread: str | None) -> None:
    found = _read(letter(known="m9@example.com", **more)).thread
    assert found == (thread if thread is not None else more["In_Reply_To"].strip("<>"))


def test_an_answer_names_what_is_above_it() -> None:
    assert references("m1@x", "m3@x") == ("m3@x", ("m1@x", "m3@x"))
    assert references("m1@x", "m1@x") == ("m1@x", ("m1@x",))
    assert references("", None) == (None, ())


@pytest.mark.parametrize(
    ("subject", "answered"),
    [
        ("Tea", "Re: Tea"),
        ("Re: Tea", "Re: Tea"),
        ("AW: Tea", "AW: Tea"),
        ("回复：茶", "回复：茶"),
        ("Regarding tea", "Re: Regarding tea"),
        ("", "First words"),
    ],
)
def test_an_answer_has_the_subject_of_what_it_answers(subject: str, answered: str) -> None:
    assert answer_subject(subject, "## First words\nand more") == answered


@pytest.mark.parametrize(
    ("subject", "more", "text"),
    [
        ("Tea", {}, "Tea\n\nhello"),
        ("=?utf-8?b?6Iy2?=", {}, "茶\n\nhello"),
        ("", {}, "hello"),
        # The thread has its subject.
        ("Re: Tea", {"In_Reply_To": "<m1@x>"}, "hello"),
    ],
)
def test_the_subject_begins_a_thread(subject: str, more: dict[str, Any], text: str) -> None:
    assert _read(letter(subject=subject, **more)).text == text


def test_a_command_needs_no_subject() -> None:
    assert _read(letter("/help", subject="Hi")).text == "/help"


@pytest.mark.parametrize(
    "more",
    [
        {"Auto_Submitted": "auto-replied"},
        {"Auto_Submitted": "auto-generated; owner-email=x@example.com"},
        {"Precedence": "bulk"},
        {"Precedence": "List"},
        {"Precedence": "junk"},
        {"List_Id": "<l.example.com>"},
        {"List_Unsubscribe": "<https://example.com/u>"},
        {"X_Auto_Response_Suppress": "OOF"},
        {"X_Failed_Recipients": "a@example.com"},
        {"subject": "Automatic reply: Tea"},
        {"subject": "=?utf-8?b?6Ieq5Yqo5Zue5aSNOiDojLY=?="},
        {"subject": "Abwesenheitsnotiz: Tee"},
        {"sender": "MAILER-DAEMON@example.com"},
        {"sender": "no-reply@example.com"},
        {"sender": "noreply+x@example.com"},
        {"sender": "shop.do-not-reply@example.com"},
        {"sender": "postmaster@example.com"},
    ],
)
def test_what_programs_send_by_themselves_is_known(more: dict[str, str]) -> None:
    # Nobody has to vouch for it: it is not read.
    assert _READER.read(letter(proven=False, **more), _PLACE).source is Source.AUTOMATIC


@pytest.mark.parametrize("kind", ["multipart/report", "message/delivery-status"])
def test_reports_are_known(kind: str) -> None:
    mail = f"From: a@example.com\r\nContent-Type: {kind}; boundary=b\r\n\r\n--b--".encode()
    assert _READER.read(mail, _PLACE).source is Source.AUTOMATIC


def test_a_bounce_is_known_by_its_path() -> None:
    mail = b"Return-Path: <>\r\nFrom: a@example.com\r\n\r\nsorry"
    assert _READER.read(mail, _PLACE).source is Source.AUTOMATIC


def test_a_person_says_so_in_vain() -> None:
    assert _read(letter(Auto_Submitted="no")).source is Source.PERSON
    assert _read(letter(sender="noreen.reply@example.com")).source is Source.PERSON


def test_a_mail_of_ones_own_is_known() -> None:
    assert _read(letter(sender="HAB@example.org")).source is Source.OWN


def _made(**parts: Any) -> EmailMessage:
    made = EmailMessage()
    made["From"] = "alice@example.com"
    for name, value in parts.items():
        made[name] = value
    return made


def test_the_plain_text_of_two_is_taken() -> None:
    made = _made()
    made.set_content("plain\n")
    made.add_alternative("<p>page</p>", subtype="html")
    assert _OPEN.read(made.as_bytes(), _PLACE).text == "plain"


def test_a_page_alone_is_read_as_people_see_it() -> None:
    made = _made()
    made.set_content(
        "<html><head><title>t</title><style>p {}</style></head><body><p>Hello&nbsp;<b>you</b>,"
        "<br>see <a href='https://e.example/x'>there</a>.</p><script>alert(1)</script>"
        "<ul><li>one</li><li>two</li></ul><table><tr><td>a</td><td>b</td></tr></table>"
        '<div class="gmail_quote">On 1 Jan 2024, Bob &lt;b@x&gt; wrote:<br><blockquote>old'
        "</blockquote></div></body></html>",
        subtype="html",
    )
    assert _OPEN.read(made.as_bytes(), _PLACE).text == (
        "Hello\N{NO-BREAK SPACE}you,\nsee there (https://e.example/x).\n\n- one\n- two\n\na | b"
    )


def test_what_stands_around_alternatives_is_read_too() -> None:
    """As by a server that sets a notice below every mail."""
    made = _made()
    made.set_content("<p>page</p>", subtype="html")
    made.make_mixed()
    made.attach(_plain("a notice"))
    assert _OPEN.read(made.as_bytes(), _PLACE).text == "page\na notice"
    inner = EmailMessage()
    inner.set_content("plain\n")
    inner.add_alternative("<p>page</p>", subtype="html")
    outer = _made()
    outer.make_mixed()
    outer.attach(inner)
    outer.attach(_plain("a notice"))
    assert _OPEN.read(outer.as_bytes(), _PLACE).text == "plain\n\na notice"


def _plain(said: str) -> EmailMessage:
    made = EmailMessage()
    made.set_content(said)
    return made


def test_files_are_named_and_can_be_found_again() -> None:
    made = _made(Subject="x")
    made.set_content("text")
    made.add_alternative("<p>text</p><img src='cid:1'>", subtype="html")
    made.add_attachment(b"1234", maintype="image", subtype="png", filename="../../etc/a\u202e.png")
    made.add_attachment(b"12", maintype="application", subtype="pdf")
    first, second = _OPEN.read(made.as_bytes(), _PLACE).files
    assert (first.name, first.mime, first.size) == ("a.png", "image/png", 4)
    assert first.handle == {"validity": 7, "uid": 42, "part": "2", "encoding": "base64"}
    assert (second.name, second.handle["part"]) == ("3-file", "3")


def test_what_is_encrypted_is_said_to_be() -> None:
    made = EmailMessage()
    made["From"] = "alice@example.com"
    made.set_content(b"0000", maintype="application", subtype="pkcs7-mime", filename="smime.p7m")
    read = _OPEN.read(made.as_bytes(), _PLACE)
    assert (read.unread, read.files, read.text) == (("an encrypted mail",), (), "")


def test_a_forwarded_mail_is_kept_whole() -> None:
    said = (
        "see below\n\n---------- Forwarded message ---------\nFrom: Bob\nDate: x\nSubject: y\n\nold"
    )
    assert _read(letter(said, subject="Fwd: y")).text == f"Fwd: y\n\n{said}"


@pytest.mark.parametrize("charset", ["nonsense", "utf-16", "ascii", "idna", "base64", "\x00", "'"])
def test_a_charset_that_is_wrong_breaks_nothing(charset: str) -> None:
    body = "Grüße".encode("latin-1")
    mail = b"From: a@example.com\r\nContent-Type: text/plain; charset=%s\r\n\r\n%s"
    read = _OPEN.read(mail % (charset.encode(), body), _PLACE)
    assert "Gr" in read.text or charset == "utf-16"


def test_parts_within_parts_without_end_are_no_mail() -> None:
    nested = b"".join(b"Content-Type: message/rfc822\r\n\r\n" for _ in range(3000))
    with pytest.raises(WebhookUnreadable):
        _OPEN.read(b"From: a@example.com\r\n" + nested, _PLACE)


def test_lines_within_parts_within_parts_without_end_are_no_mail() -> None:
    """Each line is compared with each boundary around it: these would be compared for hours."""
    opening = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(500)
    )
    with pytest.raises(WebhookUnreadable):
        _OPEN.read(b"From: a@example.com\r\n" + opening + b"\r\n" * 5_000_000, _PLACE)


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Type: multipart/mixed; boundary=a\r\n\r\n" + b"--a\r\n\r\n" * 6000,
        b"X:y\r\n" * 3000,
        b"X: y\r\n " + b"y" * 2_000_000,
        b"Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n" + b"X:y\r\n" * 3000,
    ],
)
def test_parts_and_fields_without_end_are_no_mail(rest: bytes) -> None:
    """In memory they take fifty times what they take on the line: 40 MB would be 2 GB."""
    with pytest.raises(WebhookUnreadable):
        _OPEN.read(b"From: a@example.com\r\n" + rest, _PLACE)


@pytest.mark.parametrize("kind", ["multipart/mixed", "application/pdf", "text/plain"])
def test_parameters_without_end_are_none(kind: str) -> None:
    """The library takes time that grows with the square of their number, hours for a few MB."""
    field = f"Content-Type: {kind}; " + "a=b;" * 45_000
    read = _OPEN.read(f"From: a@example.com\r\n{field}\r\n\r\nwords".encode(), _PLACE)
    assert read.files or read.text == "words"


def test_a_page_of_small_pieces_without_end_is_read() -> None:
    """One text that grows would be copied for each of them."""
    page = "Content-Type: text/html\r\n\r\n" + "<b>k</b> " * 100_000
    read = _OPEN.read(f"From: a@example.com\r\n{page}".encode(), _PLACE)
    assert read.text == " ".join(["k"] * 100_000)


_TEXT = st.text(
    st.sampled_from("abcXYZ 019 .,;-_*<&>\"'éüñßжщ速茶नमस्ते👋👨\u200d👩🏽 \n\n"),
    min_size=1,
    max_size=200,
)
_ENCODINGS = st.sampled_from(["quoted-printable", "base64", "8bit"])


@settings(max_examples=500, deadline=None)
@given(_TEXT, _ENCODINGS, _TEXT, st.booleans(), st.binary(max_size=200))
def test_what_a_foreign_program_wrote_is_read_as_it_was_meant(
    said: str, encoding: str, subject: str, alternative: bool, file: bytes
) -> None:
    made = _made(Subject=" ".join(subject.split()))
    made.set_content(said, cte=encoding, charset="utf-8")
    if alternative:
        made.add_alternative("<p>page</p>", subtype="html")
    made.add_attachment(
        file, maintype="application", subtype="zip", filename=f"{subject[:9]!r}.zip"
    )
    read = _OPEN.read(made.as_bytes(), _PLACE)
    # Python's own reader has it: its writer loses a blank between two encoded words.
    written = message_from_bytes(made.as_bytes(), policy=default)["subject"]
    assert read.subject == " ".join(str(written).split())
    assert [one.size for one in read.files] == [len(file)]
    # Quotes and signatures are looked at by themselves.
    if not any(line.lstrip().startswith(">") or line in {"--", "-- "} for line in said.split("\n")):
        assert " ".join(said.split()) in " ".join(read.text.split())


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=400), st.sampled_from([b"", b"From: a@example.com\r\n"]))
def test_any_bytes_are_a_mail_or_none(content: bytes, head: bytes) -> None:
    try:
        read = _OPEN.read(head + content, _PLACE)
    except WebhookUnreadable:
        return
    assert read.sender == read.chat
    read.text.encode()
