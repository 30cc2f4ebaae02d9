"""XLSX: the rows of each sheet, cells between tabs."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from habakkuk.documents.cells import Formats, number_text
from habakkuk.documents.markup import Attributes, Handler, Parser, whole
from habakkuk.documents.package import Package, first_of
from habakkuk.documents.titles import title_of
from habakkuk.documents.types import Part

_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_MOST_COLUMNS = 16_384
_BLANK = re.compile(r"[\t\r\n\v\f]+")
# So many empty rows are shown as such; of more it is said how many.
_MOST_EMPTY = 2
_TRUTH = {"0": "FALSE", "1": "TRUE"}


class Xlsx:
    """An open XLSX."""

    kind = "XLSX"
    unit = "sheet"

    def __init__(self, package: Package) -> None:
        """Read which sheets there are, in their order. Raises Unreadable."""
        self._package = package
        self._main = package.main_part()
        self._book = _Book()
        package.parse(self._main, self._book)
        self._relations = package.relations(self._main)
        self._shared: list[str] | None = None
        self._formats: Formats | None = None
        self.title = title_of(package)

    @property
    def parts(self) -> Sequence[Part]:
        """The sheets."""
        return [Part(sheet.shown, partial(self._text, sheet)) for sheet in self._book.sheets]

    def _text(self, sheet: _Sheet) -> Iterator[str]:
        relation = self._relations.get(sheet.relation)
        if relation is None or relation.kind != "worksheet":
            yield "(no cells: it is a chart or a dialog)\n"
            return
        rows = _Rows(self._strings(), self._cell_formats())
        parser = Parser(rows)
        for chunk in self._package.stream(relation.target):
            parser.feed(chunk)
            yield from rows.taken()
        parser.close()
        yield from rows.taken()

    def _strings(self) -> list[str]:
        if self._shared is None:
            shared = _Strings()
            self._package.parse_if_there(first_of(self._relations, "sharedStrings"), shared)
            self._shared = shared.found
        return self._shared

    def _cell_formats(self) -> Formats:
        if self._formats is None:
            self._formats = Formats(from_1904=self._book.from_1904)
            self._package.parse_if_there(first_of(self._relations, "styles"), self._formats)
        return self._formats


@dataclass(frozen=True)
class _Sheet:
    name: str
    relation: str
    hidden: bool

    @property
    def shown(self) -> str:
        return f"{self.name} (hidden)" if self.hidden else self.name


class _Book(Handler):
    def __init__(self) -> None:
        self.sheets: list[_Sheet] = []
        self.from_1904 = False

    def begin(self, name: str, attributes: Attributes, /) -> None:
        if name == "sheet":
            hidden = attributes.get("state", "visible") != "visible"
            self.sheets.append(
                _Sheet(attributes.get("name", ""), attributes.get(":id", ""), hidden)
            )
        elif name == "workbookPr":
            self.from_1904 = attributes.get("date1904", "0") in ("1", "true")


class _Strings(Handler):
    """Reads the strings that cells share; how Japanese is pronounced is left out."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._text: list[str] = []
        self._in_text = False
        self._spoken = False

    def begin(self, name: str, _attributes: Attributes, /) -> None:
        if name == "si":
            self._text = []
        elif name == "rPh":
            self._spoken = True
        elif name == "t":
            self._in_text = not self._spoken

    def characters(self, text: str, /) -> None:
        if self._in_text:
            self._text.append(text)

    def end(self, name: str, /) -> None:
        if name == "t":
            self._in_text = False
        elif name == "rPh":
            self._spoken = False
        elif name == "si":
            self.found.append("".join(self._text))


class _Rows(Handler):
    """Reads rows, which are taken as they come."""

    def __init__(self, shared: Sequence[str], formats: Formats) -> None:
        self._shared, self._formats = shared, formats
        self._lines: deque[str] = deque()
        self._row = 0
        self._shown = 0
        self._cells: dict[int, str] = {}
        self._column = 0
        self._kind = ""
        self._style = ""
        self._text: list[str] = []
        self._formula: list[str] = []
        self._into: list[str] | None = None
        self._spoken = False

    def taken(self) -> Iterator[str]:
        """Yield the lines that are complete, each once."""
        while self._lines:
            yield self._lines.popleft()

    def begin(self, name: str, attributes: Attributes, /) -> None:
        if name == "c":
            self._begin_cell(attributes)
        elif name in ("v", "t"):
            self._into = None if self._spoken else self._text
        elif name == "f":
            self._into = self._formula
        elif name == "row":
            self._begin_row(attributes.get("r", ""))
        elif name == "rPh":
            self._spoken = True

    def _begin_row(self, number: str) -> None:
        self._row = whole(number) or self._row + 1
        self._cells, self._column = {}, 0

    def _begin_cell(self, attributes: Attributes) -> None:
        match = _REFERENCE.fullmatch(attributes.get("r", ""))
        self._column = min(_column(match[1]) if match else self._column + 1, _MOST_COLUMNS)
        self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "0")
        self._text, self._formula = [], []

    def characters(self, text: str, /) -> None:
        if self._into is not None:
            self._into.append(text)

    def end(self, name: str, /) -> None:
        if name in ("v", "t", "f"):
            self._into = None
        elif name == "rPh":
            self._spoken = False
        elif name == "c":
            value = _BLANK.sub(" ", self._value()).strip()
            if value:
                self._cells[self._column] = value
        elif name == "row":
            self._end_row()

    def _value(self) -> str:
        text = "".join(self._text)
        if not text and self._formula:
            # Written by a program that does not reckon: nobody has opened it since.
            return "=" + "".join(self._formula)
        if self._kind == "s":
            place = whole(text)
            found = place is not None and place < len(self._shared)
            return self._shared[place or 0] if found else ""
        if self._kind == "b":
            return _TRUTH.get(text, text)
        if self._kind == "n":
            return number_text(text, self._formats.of(self._style))
        return text

    def _end_row(self) -> None:
        columns = sorted(self._cells)
        if not columns:
            # It may have a colour; told only when another row follows.
            return
        skipped = self._row - self._shown - 1
        if skipped > _MOST_EMPTY:
            self._lines.append(f"(rows {self._shown + 1} to {self._row - 1} are empty)\n")
        elif skipped > 0:
            self._lines.append("\n" * skipped)
        self._shown = self._row
        pieces, at = [], 1
        for column in columns:
            pieces += ["\t" * (column - at), self._cells[column]]
            at = column
        self._lines.append("".join(pieces) + "\n")


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number
