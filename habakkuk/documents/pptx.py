"""PPTX: the words of each slide, with the speaker's notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from habakkuk.documents.markup import Attributes, Handler
from habakkuk.documents.package import Package, first_of
from habakkuk.documents.titles import title_of
from habakkuk.documents.types import Part

_TITLES = {"title", "ctrTitle"}
# Of what stands on a page of notes beside them: the slide itself, its number, date and so on.
_BESIDE_NOTES = {"sldImg", "sldNum", "hdr", "ftr", "dt"}
_FALLBACK = "Fallback"


class Pptx:
    """An open PPTX."""

    kind = "PPTX"
    unit = "slide"

    def __init__(self, package: Package) -> None:
        """Read which slides there are, in their order. Raises Unreadable."""
        self._package = package
        main = package.main_part()
        listed = _Slides()
        package.parse(main, listed)
        relations = package.relations(main)
        self._slides = [relations[key].target for key in listed.found if key in relations]
        self.title = title_of(package)

    @property
    def parts(self) -> Sequence[Part]:
        """The slides."""
        return [Part("", partial(self._text, name)) for name in self._slides]

    def _text(self, name: str) -> Iterator[str]:
        slide = _Shapes()
        self._package.parse(name, slide)
        if slide.hidden:
            yield "(hidden)\n"
        yield from slide.lines
        notes = _Shapes(_BESIDE_NOTES)
        self._package.parse_if_there(first_of(self._package.relations(name), "notesSlide"), notes)
        if notes.lines:
            yield "\nNotes:\n"
            yield from notes.lines


class _Slides(Handler):
    def __init__(self) -> None:
        self.found: list[str] = []

    def begin(self, name: str, attributes: Attributes, /) -> None:
        if name == "sldId":
            self.found.append(attributes.get(":id", ""))


class _Shapes(Handler):
    """Reads the paragraphs and tables of a slide; `left_out` are kinds of shapes."""

    def __init__(self, left_out: set[str] | None = None) -> None:
        self._left_out = left_out or set()
        self.lines: list[str] = []
        self.hidden = False
        self._place = ""
        self._text: list[str] = []
        self._row: list[str] = []
        self._cell: list[str] | None = None
        self._in_text = False
        self._skipped = 0

    def begin(self, name: str, attributes: Attributes, /) -> None:
        if self._skipped or name == _FALLBACK:
            self._skipped += 1
        elif name == "sld":
            self.hidden = attributes.get("show", "1") in ("0", "false")
        elif name == "ph":
            self._place = attributes.get("type", "body")
        elif name == "tr":
            self._row = []
        elif name == "tc":
            self._cell = []
        else:
            self._begin_text(name)

    def _begin_text(self, name: str) -> None:
        if name == "p":
            self._text = []
        elif name == "t":
            self._in_text = True
        elif name == "br":
            self._text.append(" ")

    def characters(self, text: str, /) -> None:
        if self._in_text:
            self._text.append(text)

    def end(self, name: str, /) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name == "t":
            self._in_text = False
        elif name == "p":
            self._paragraph(" ".join("".join(self._text).split()))
        elif name == "tc" and self._cell is not None:
            self._row.append(" ".join(self._cell).replace("|", "\\|"))
            self._cell = None
        elif name == "tr":
            self.lines.append("| " + " | ".join(self._row) + " |\n")
        elif name == "sp":
            self._place = ""

    def _paragraph(self, text: str) -> None:
        self._text = []
        if not text or self._place in self._left_out:
            return
        if self._cell is not None:
            self._cell.append(text)
        else:
            self.lines.append(("# " if self._place in _TITLES else "") + text + "\n")
