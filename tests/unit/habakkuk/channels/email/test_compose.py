"""Mails as they are written: what others said stands in them as words, and as nothing else."""

from __future__ import annotations

import io
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest

from habakkuk.channels.email.compose import Writer
from habakkuk.channels.messages import OutboundFile, OutboundMessage

_FIELDS = {
    *("From", "To", "Subject", "Date", "Message-ID", "In-Reply-To", "References"),
    *("Auto-Submitted", "X-Auto-Response-Suppress", "MIME-Version", "Content-Type"),
}
_PART = {"Content-Type", "Content-Disposition", "Content-Transfer-Encoding", "MIME-Version"}
_WORDS = [
    "Tea",
    "Tee für zwei – 你好 😀",
    "=?utf-8?q?=0D=0ABcc:_mallory@example.net?=",
    "=?utf-8?q?=0A?= 你好",
    "你好=?x?q?a?=" * 9,
    "=?unknown-8bit?q?=80?=",
    "=?utf-8?q?=ED=A0=80?=",
    'a "quoted" \\ (word); filename=x',
    "ä" * 240,
    "x" * 240,
]


def _written(subject: str, name: str = "a.txt", to: str = "ann@example.com") -> EmailMessage:
    """Return a mail as its recipient's program reads it."""
    file = OutboundFile(name, "text/plain", 1, lambda: io.BytesIO(b"x"))
    message = OutboundMessage(
        "k", to, "", "text", "answer", "m1@example.com", subject=subject, file=file
    )
    known, mail = Writer("bot@example.org", 'Hä "b" (c), =?x?').write(message, to)
    assert known in mail.decode()
    read = message_from_bytes(mail, policy=default)
    assert isinstance(read, EmailMessage)
    return read


@pytest.mark.parametrize("words", _WORDS)
def test_a_subject_that_others_wrote_is_one_field(words: str) -> None:
    mail = _written(words)
    assert set(mail.keys()) <= _FIELDS
    assert mail["subject"] == f"Re: {words}"


@pytest.mark.parametrize("words", _WORDS)
def test_a_name_of_a_file_is_one_parameter(words: str) -> None:
    mail = _written("Tea", words.replace("/", "_"))
    (part,) = mail.iter_attachments()
    assert set(mail.keys()) <= _FIELDS
    assert set(part.keys()) <= _PART
    assert part.get_filename() == words.replace("/", "_")
    assert part.get_content_disposition() == "attachment"


@pytest.mark.parametrize("to", ["=?utf-8?q?=0ABcc=3A_x?=@example.com", "jörg@example.com"])
def test_an_address_is_one_field(to: str) -> None:
    mail = _written("Tea", to=to)
    assert set(mail.keys()) <= _FIELDS


def test_a_display_name_is_what_was_set() -> None:
    (shown,) = _written("Tea")["from"].addresses
    assert (shown.display_name, shown.addr_spec) == ('Hä "b" (c), =?x?', "bot@example.org")
