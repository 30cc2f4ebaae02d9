"""What a server answers to FETCH, mail by mail (RFC 3501, section 7.4.2)."""

from __future__ import annotations

import imaplib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_UID = re.compile(rb"\bUID (\d+)")
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")


@dataclass(frozen=True)
class Head:
    """A mail before it is fetched: its number, when it arrived in seconds since 1970, its header.

    `size` in bytes is that of all of it. Both are 0 where the server does not tell them.
    """

    uid: int
    arrived: float
    size: int
    content: bytes


def read_heads(answer: Sequence[Any]) -> Mapping[int, Head]:
    """Return the headers in an answer by the numbers of their mails."""
    made = [_head(words, literal) for words, literal in _mails(answer)]
    return {head.uid: head for head in made if head is not None}


def read_literal(answer: Sequence[Any], uid: int) -> bytes | None:
    """Return what was asked for of a mail; None when it is not there."""
    for words, literal in _mails(answer):
        # An empty part comes as a quoted string. Servers tell of changed flags in between.
        if _number(_UID, words) == uid and b"BODY[" in words.upper():
            return literal or b""
    return None


def _mails(answer: Sequence[Any]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the words of each mail and its literal; imaplib's answer has them in pieces."""
    words, literal = b"", None
    for one in answer:
        if isinstance(one, tuple):
            words, literal = words + one[0] + b" ", bytes(one[1])
        elif one is not None:
            yield words + one, literal
            words, literal = b"", None


def _head(words: bytes, literal: bytes | None) -> Head | None:
    uid = _number(_UID, words)
    if not uid or b"BODY[" not in words.upper():
        return None
    return Head(uid, _arrived(words), _number(_SIZE, words), literal or b"")


def _arrived(words: bytes) -> float:
    try:
        told = imaplib.Internaldate2tuple(words)
        return time.mktime(told) if told else 0.0
    except (KeyError, ValueError, OverflowError):
        # A month or a year that there is not.
        return 0.0


def _number(wanted: re.Pattern[bytes], words: bytes) -> int:
    found = wanted.search(words)
    return int(found[1]) if found else 0
