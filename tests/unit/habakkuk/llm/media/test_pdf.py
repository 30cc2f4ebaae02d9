"""As much of a PDF as decides whether it is sent."""

from __future__ import annotations

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
