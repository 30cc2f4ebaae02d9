"""What a server refuses is told from a line that breaks (RFC 3501, section 7.1)."""

from __future__ import annotations

import imaplib
from typing import Any, cast

import pytest

from habakkuk.channels.email.imap import Mailbox, Refused
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt


class _Client:
    """A line on which FETCH is answered so, or fails so."""

    def __init__(self, answer: tuple[str, list[Any]] | Exception) -> None:
        self._answer = answer
        self.left = [b"of an earlier answer"]

    def response(self, _code: str) -> tuple[str, list[Any]]:
        self.left.clear()
        return "", [None]

    def capability(self) -> tuple[str, list[bytes]]:
        return "OK", [b"IMAP4rev1"]

    def uid(self, *_words: str) -> tuple[str, list[Any]]:
        assert not self.left
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class _Box:
    def __init__(self, client: _Client) -> None:
        self.client = client


def _mailbox(answer: tuple[str, list[Any]] | Exception) -> Mailbox:
    return Mailbox(cast("Any", _Box(_Client(answer))), Interrupt())


@pytest.mark.parametrize(
    "answer",
    [
        ("NO", [b"[SERVERBUG] Internal error occurred."]),
        imaplib.IMAP4.error("UID command error: BAD [b'Error in IMAP command']"),
    ],
)
def test_no_and_bad_refuse_one_mail(answer: tuple[str, list[Any]] | Exception) -> None:
    with pytest.raises(Refused):
        _mailbox(answer).read(5, 100)
    with pytest.raises(Refused):
        _mailbox(answer).heads([5, 6], 100)


@pytest.mark.parametrize(
    "fault",
    [
        imaplib.IMAP4.abort("command: UID => FETCH failed: BAD luck"),
        imaplib.IMAP4.error("got more than 1000000 bytes"),
        OSError("reset"),
    ],
)
def test_anything_else_breaks_the_line(fault: Exception) -> None:
    with pytest.raises(ChannelError) as raised:
        _mailbox(fault).read(5, 100)
    assert not isinstance(raised.value, Refused)
    assert raised.value.retryable
