"""DOCX, XLSX and PPTX of foreign programs with bytes changed, cut out, doubled: read or refused."""

from __future__ import annotations

import functools

from hypothesis import strategies as st

from habakkuk.documents.reading import read
from habakkuk.documents.types import Unreadable
from tests.fakes import documents as made

_MOST = 5_000


@functools.cache
def _seeds() -> list[bytes]:
    return [
        made.bare_docx(b"<w:p><w:r><w:t>some words</w:t></w:r></w:p>"),
        made.docx([("Heading 1", "Top"), ("List Bullet", "item")], title="T"),
        made.xlsx({"A": [["x", 1.5, True], [], ["=A1"]], "B": [["y"]]}),
        made.pptx([("Head", "body", "notes")]),
    ]


_CHANGE = st.tuples(
    st.floats(0, 1, exclude_max=True), st.sampled_from("scdi"), st.binary(max_size=8)
)
# A seed and changes, told as bytes so that a case is one: the seed's number, then the document.
STRATEGY = st.builds(
    lambda number, changes: _changed(_seeds()[number], changes),
    st.integers(0, 3),
    st.lists(_CHANGE, max_size=6),
)


def _changed(data: bytes, changes: list[tuple[float, str, bytes]]) -> bytes:
    """Set bytes, cut the rest off, double a piece or put bytes in, at a part of the length."""
    for where, how, given in changes:
        at = int(where * len(data))
        if how == "s":
            data = data[:at] + given + data[at + len(given) :]
        elif how == "c" and where > 0.5:
            data = data[:at]
        elif how == "d":
            data = data[: at + 200] + data[at:]
        elif how == "i":
            data = data[:at] + given + data[at:]
    return data


def check(data: bytes) -> None:
    """Read it twice: the same text, of the length that was asked for at most, or a reason."""
    said = _said(data)
    assert 0 < len(said) <= _MOST
    assert _said(data) == said


def _said(data: bytes) -> str:
    try:
        return read(data, "", 0, _MOST).text or "(nothing)"
    except Unreadable as unreadable:
        return str(unreadable)
