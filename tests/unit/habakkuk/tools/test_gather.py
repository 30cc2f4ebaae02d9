from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from habakkuk.tools.gather import Gathered


def gathered(*chunks: bytes, head: int = 4, tail: int = 4) -> Gathered:
    made = Gathered(head, tail)
    for chunk in chunks:
        made.add(chunk)
    return made


def test_what_fits_is_whole() -> None:
    assert gathered(b"ab", b"cdef", b"gh").text() == "abcdefgh"


def test_the_middle_is_dropped_and_counted() -> None:
    made = gathered(*(bytes([char]) for char in b"abcdefghijkl"))
    assert made.text() == "abcd\n[… 4 bytes dropped …]\nijkl"


def test_a_character_across_the_border_is_whole_while_nothing_is_dropped() -> None:
    assert gathered("abcé".encode(), head=4).text() == "abcé"


def test_nothing_is_nothing() -> None:
    assert gathered().text() == ""


@given(st.lists(st.binary(max_size=9), max_size=30))
def test_memory_is_bounded_and_no_byte_uncounted(chunks: list[bytes]) -> None:
    made = gathered(*chunks, head=10, tail=10)
    whole = b"".join(chunks)
    kept = len(whole) - made.dropped
    assert kept <= 10 + 10 + 9
    if len(whole) <= 20:
        assert made.dropped == 0
