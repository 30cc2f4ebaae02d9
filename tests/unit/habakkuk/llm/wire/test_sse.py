"""Reading event streams as services really send them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from habakkuk.llm.wire.sse import Event, TooLong, events

STREAM = (
    b": keep-alive\n\ndata: one\n\nevent: error\r\ndata: two\r\ndata: more\r\n\r\n"
    b"id: 7\nretry: 10\ndata:three \xc3\xa4\n\ndata: [DONE]\n\n"
)
EXPECTED = [Event("one"), Event("two\nmore", "error"), Event("three ä"), Event("[DONE]")]


def test_comments_names_and_line_ends_of_all_kinds() -> None:
    assert list(events([STREAM])) == EXPECTED


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_where_the_chunks_are_cut_does_not_matter(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[a:b] for a, b in itertools.pairwise(places)]
    assert list(events(chunks)) == EXPECTED


def test_a_stream_of_single_bytes() -> None:
    assert list(events(bytes([byte]) for byte in STREAM)) == EXPECTED


def test_a_last_event_without_its_blank_line_counts() -> None:
    assert list(events([b"data: a\n\ndata: b"])) == [Event("a"), Event("b")]


def test_a_body_that_is_no_stream_comes_whole_and_marked() -> None:
    body = b'{"error":\n {"message": "x"}}'
    assert list(events([body])) == [Event('{"error":\n {"message": "x"}}', stray=True)]


def test_a_byte_order_mark_is_no_part_of_the_first_field() -> None:
    assert list(events([b"\xef\xbb\xbfdata: a\n\n"])) == [Event("a")]


def test_invalid_utf8_is_replaced() -> None:
    assert list(events([b"data: a\xff\n\n"])) == [Event("a\ufffd")]


def test_a_lone_carriage_return_ends_a_line() -> None:
    assert list(events([b"data: a\r\rdata: b\r\r"])) == [Event("a"), Event("b")]


def test_an_endless_event_is_refused() -> None:
    with pytest.raises(TooLong):
        list(events(b"data: " + b"x" * 1_000_000 + b"\n" for _ in range(20)))


def test_an_endless_line_is_refused() -> None:
    with pytest.raises(TooLong):
        list(events(b"x" * 4_000_000 for _ in range(6)))
