from __future__ import annotations

import pytest

from habakkuk.core.errors import Invalid
from web.bodies import parse


def test_a_json_object_is_read() -> None:
    assert parse(b'{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'{"t": "a\\u0000b"}', "a\ufffdb"),
        (b'{"t": "a\\ud800b"}', "a\ufffdb"),
        (b'{"t": "\\udc00\\ud800"}', "\ufffd\ufffd"),
        (b'{"t": "\\ud83d\\ude00"}', "\U0001f600"),
    ],
    ids=["NUL", "high surrogate", "turned pair", "whole pair"],
)
def test_what_cannot_be_stored_is_replaced(raw: bytes, text: str) -> None:
    assert parse(raw) == {"t": text}


def test_keys_are_cleaned_too() -> None:
    assert parse(b'{"a\\u0000": 1}') == {"a\ufffd": 1}


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"nonsense",
        b"[1]",
        b'"text"',
        b"null",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b'{"t": "\xff"}',
        b'{"t": "\xed\xa0\x80"}',
        b'{"t": "\x00"}',
        b'{"a": 1} {"b": 2}',
        b'{"a":' * 100 + b"1" + b"}" * 100,
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": "' + b"\\" * 9 + b"}",
    ],
    ids=lambda raw: raw[:16].decode("latin-1"),
)
def test_what_is_no_json_object_is_refused_in_one_sentence(raw: bytes) -> None:
    with pytest.raises(Invalid) as caught:
        parse(raw)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "piece", [b'\\"', b'"', b"\\", b'"\\', b"[]", b'"a":', b"{}"], ids=lambda piece: piece.decode()
)
def test_two_megabytes_of_anything_are_judged(piece: bytes) -> None:
    """A pattern that tried again from each quote would not come back from this."""
    with pytest.raises(Invalid):
        parse(b'{"a": "' + piece * (2_000_000 // len(piece)))


def test_brackets_inside_text_are_not_nesting() -> None:
    assert parse(b'{"t": "' + b"[{" * 1000 + b'\\""}') == {"t": "[{" * 1000 + '"'}
