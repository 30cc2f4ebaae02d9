"""As much of a PDF as decides whether it is sent."""

from __future__ import annotations

import zlib

import pytest

from habakkuk.llm.media import pdf
from tests.fakes.pictures import document


@pytest.mark.parametrize("packed", [False, True])
def test_pages_are_counted_plain_and_packed(packed: bool) -> None:
    assert pdf.pages(document(12, packed=packed)) == 12


def test_the_tree_of_pages_is_no_page() -> None:
    assert pdf.pages(document(0)) == 0


def test_what_is_packed_in_another_way_is_passed_over() -> None:
    broken = document(3).replace(b"startxref", b"/ObjStm stream\nxx\nendstream\nstartxref")
    assert pdf.pages(broken) == 3


def test_a_stream_without_end_ends_the_count() -> None:
    assert pdf.pages(document(3) + b"/ObjStm stream ") == 3


def test_a_cut_file_is_not_whole() -> None:
    data = document(3)
    assert pdf.whole(data)
    assert not pdf.whole(data[: data.index(b"startxref")])


def test_a_password_is_seen() -> None:
    assert pdf.protected(document(1) + b"trailer << /Encrypt 9 0 R >>")
    assert not pdf.protected(document(1))


def _streams(inside: bytes, count: int) -> bytes:
    return b"/ObjStm stream\n%s\nendstream\n" % inside * count


def test_a_file_of_nothing_but_streams_is_not_read_to_its_end() -> None:
    page = zlib.compress(b"/Type/Page ")
    assert pdf.pages(_streams(page, 3000)) == 2000


def test_no_stream_unpacks_more_than_a_megabyte() -> None:
    late = zlib.compress(b" " * 1_000_000 + b"/Type/Page ")
    assert pdf.pages(_streams(late, 1)) == 0


def test_streams_that_break_late_use_up_what_may_be_unpacked() -> None:
    # 60 kB that are 64 MB until their sum proves wrong: a hundred of them took half a minute.
    bomb = zlib.compress(b" " * 2_000_000)[:-300] + b"\xff" * 300
    good = zlib.compress(b"/Type/Page ")
    assert pdf.pages(_streams(bomb, 31) + _streams(good, 1)) == 1
    assert pdf.pages(_streams(bomb, 32) + _streams(good, 1)) == 0


def test_more_pages_than_any_service_takes_are_not_counted() -> None:
    assert pdf.pages(b"/Type/Page " * 20_000) == 10_000
