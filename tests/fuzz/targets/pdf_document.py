"""PDFs with bytes changed and objects put in."""

from __future__ import annotations

import functools

from hypothesis import strategies as st

from habakkuk.documents.reading import read
from habakkuk.documents.types import Unreadable
from tests.fakes import documents as made

_MOST = 5_000
_WORDS = [b"/Kids [3 0 R 3 0 R]", b"/Count 99999999", b"/Length 0", b"/Length -1", b"/Prev 9"]
_WORDS += [b"1 0 R", b"<< /Type /Page >>", b"stream\n", b"endobj", b"(", b"[" * 50, b"/Filter /LZW"]


@functools.cache
def _seed() -> bytes:
    return made.pdf([["one", "two"], ["three"]], title="T")


_CHANGE = st.tuples(
    st.floats(0, 1, exclude_max=True), st.one_of(st.sampled_from(_WORDS), st.binary(max_size=6))
)


def _changed(changes: list[tuple[float, bytes]]) -> bytes:
    data = _seed()
    for where, given in changes:
        at = int(where * len(data))
        data = data[:at] + given + data[at + len(given) :]
    return data


STRATEGY = st.lists(_CHANGE, min_size=1, max_size=8).map(_changed)


def check(data: bytes) -> None:
    """Read it in this process, where a crash is seen: a text or a reason."""
    try:
        said = read(data, "", 0, _MOST).text
    except Unreadable as unreadable:
        said = str(unreadable)
    assert 0 < len(said) <= _MOST
