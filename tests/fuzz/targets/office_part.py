"""The parts of a DOCX, XLSX or PPTX made of the words of their XML, in any order and nesting."""

from __future__ import annotations

import functools

from hypothesis import strategies as st

from habakkuk.documents.reading import read
from habakkuk.documents.types import Unreadable
from tests.fakes import documents as made

_MOST = 5_000
_ELEMENTS = [
    "p",
    "r",
    "t",
    "tab",
    "br",
    "tc",
    "tr",
    "tbl",
    "hyperlink",
    "del",
    "moveFrom",
    "Fallback",
    "footnoteReference",
    "pStyle",
    "numPr",
    "ilvl",
    "row",
    "c",
    "v",
    "f",
    "is",
    "si",
    "rPh",
    "sheet",
    "sp",
    "ph",
    "sld",
    "notes",
    "drawing",
]
_VALUES = ["", "0", "1", "-1", "5", "s", "b", "n", "str", "inlineStr", "A1", "ZZ99", "XFD1048576"]
_VALUES += ["999999999", "99999999999", "title", "sldNum", "rId1", "Heading1", "²", "٣"]
_ATTRIBUTES = ("r", "t", "s", "w:val", "r:id", "w:id", "type", "show", "w:pos")
_PIECE = st.one_of(
    st.builds(
        lambda name, given: f"<{name}{given}>",
        st.sampled_from(_ELEMENTS),
        st.lists(
            st.tuples(st.sampled_from(_ATTRIBUTES), st.sampled_from(_VALUES)),
            max_size=3,
            unique_by=lambda pair: pair[0],
        ).map(lambda pairs: "".join(f' {key}="{value}"' for key, value in pairs)),
    ),
    st.just("</>"),
    st.sampled_from(["words", " ", "46024.5", "1e999", "-1", "&amp;", "\u2028", "|", "=A1", "7"]),
)
# The first byte says which kind of document it is a part of.
STRATEGY = st.tuples(st.sampled_from(["d", "x", "p"]), st.lists(_PIECE, max_size=40)).map(
    lambda both: (both[0] + _closed(both[1])).encode()
)
_SPACES = ' xmlns:w="w" xmlns:r="r"'
_KINDS = {
    b"d": ("word/document.xml", b"document"),
    b"x": ("xl/worksheets/sheet1.xml", b"worksheet"),
    b"p": ("ppt/slides/slide1.xml", b"sld"),
}


def _closed(pieces: list[str]) -> str:
    """Return the pieces as XML in which every element ends."""
    out, waiting = [], list[str]()
    for piece in pieces:
        if piece == "</>":
            out.append(f"</{waiting.pop()}>" if waiting else "")
            continue
        if piece.startswith("<"):
            waiting.append(piece[1:].partition(" ")[0].rstrip(">"))
        out.append(piece)
    return "".join(out + [f"</{name}>" for name in reversed(waiting)])


@functools.cache
def _whole(kind: bytes) -> bytes:
    if kind == b"d":
        return made.docx()
    return made.xlsx({"A": [["x"]]}) if kind == b"x" else made.pptx([("Head", "body", "")])


def check(data: bytes) -> None:
    """Put it in the place of the part: there is a text, or a reason."""
    name, root = _KINDS.get(data[:1], _KINDS[b"d"])
    part = b"<%s%s>%s</%s>" % (root, _SPACES.encode(), data[1:], root)
    kind = data[:1] if data[:1] in _KINDS else b"d"
    try:
        said = read(made.with_part(_whole(kind), name, part), "", 0, _MOST).text
    except Unreadable as unreadable:
        said = str(unreadable)
    assert len(said) <= _MOST
