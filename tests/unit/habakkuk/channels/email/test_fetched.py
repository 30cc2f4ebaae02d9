"""Answers to FETCH as servers write them (RFC 3501, section 7.4.2), in imaplib's pieces."""

from __future__ import annotations

from habakkuk.channels.email.fetched import read_heads, read_literal

_DATE = b'INTERNALDATE "17-Jul-1996 02:44:25 -0700"'


def test_headers_are_told_apart_by_their_numbers_wherever_these_stand() -> None:
    answer = [
        (b"1 (UID 5 " + _DATE + b" RFC822.SIZE 900 BODY[HEADER]<0> {3}", b"a: "),
        b")",
        b"7 (FLAGS (\\Seen) UID 9)",
        (b"2 (BODY[HEADER]<0> {3}", b"b: "),
        b" " + _DATE + b" RFC822.SIZE 7 UID 6)",
    ]
    heads = read_heads(answer)
    assert [(one.uid, one.size, one.content) for one in heads.values()] == [
        (5, 900, b"a: "),
        (6, 7, b"b: "),
    ]
    assert heads[5].arrived == heads[6].arrived == 837596665.0


def test_a_date_that_is_none_is_not_told() -> None:
    for date in (b'"99-Foo-2026 02:44:25 -0700"', b"NIL", b'"yesterday"'):
        answer = [(b"1 (UID 5 INTERNALDATE " + date + b" BODY[HEADER]<0> {1}", b"a"), b")"]
        assert read_heads(answer)[5].arrived == 0.0


def test_of_a_mail_that_is_gone_there_is_nothing() -> None:
    assert read_heads([None]) == {}
    assert read_literal([None], 5) is None
    assert read_literal([b"1 (UID 5 FLAGS ())"], 5) is None


def test_what_is_told_of_another_mail_is_not_taken_for_this_one() -> None:
    answer = [(b"1 (UID 4 BODY[] {1}", b"x"), b")", (b"2 (UID 5 BODY[] {1}", b"y"), b")"]
    assert read_literal(answer, 5) == b"y"


def test_what_is_empty_comes_as_a_string() -> None:
    assert read_literal([b'1 (UID 5 BODY[2]<100> "")'], 5) == b""
