"""DOCX: body, footnotes, endnotes and comments, as Markdown where that is plain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from habakkuk.documents.markup import Attributes, Handler
from habakkuk.documents.package import Package, Relation, first_of
from habakkuk.documents.titles import title_of
from habakkuk.documents.types import Part

_DEEPEST_HEADING = 6
_NOTES = (("footnotes", "footnote", ""), ("endnotes", "endnote", "e"))
# What was deleted or moved away while changes are tracked, and the second form of what stands there
# twice, for programs that do not know the first.
_LEFT_OUT = {"del", "moveFrom", "Fallback"}
_BREAKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_REFERENCES = {"footnoteReference": "", "endnoteReference": "e"}


class Docx:
    """An open DOCX: one part."""

    kind = "DOCX"
    unit = ""

    def __init__(self, package: Package) -> None:
        """Find its parts. Raises Unreadable."""
        self._package = package
        self._main = package.main_part()
        self._relations = package.relations(self._main)
        self.title = title_of(package)

    @property
    def parts(self) -> Sequence[Part]:
        """The whole text."""
        return [Part("", self._text)]

    def _text(self) -> Iterator[str]:
        styles = _Styles()
        self._package.parse_if_there(first_of(self._relations, "styles"), styles)
        body = _Story(styles, self._links(self._main))
        self._package.parse(self._main, body)
        yield from body.lines
        for kind, element, mark in _NOTES:
            yield from self._notes(kind, element, mark)
        yield from self._comments()

    def _notes(self, kind: str, element: str, mark: str) -> Iterator[str]:
        name = first_of(self._relations, kind)
        if name is None:
            return
        notes = _Notes(element, self._links(name))
        self._package.parse_if_there(name, notes)
        for number, text in notes.found:
            yield f"[^{mark}{number}]: {text}\n"

    def _comments(self) -> Iterator[str]:
        name = first_of(self._relations, "comments")
        comments = _Notes("comment", {})
        self._package.parse_if_there(name, comments)
        for number, text in comments.found:
            yield f"(comment {number}: {text})\n"

    def _links(self, name: str) -> Mapping[str, str]:
        found: dict[str, Relation] = self._package.relations(name)
        return {key: one.target for key, one in found.items() if one.outside}


class _Styles(Handler):
    """Reads which styles are headings, and of which level, and which are those of lists."""

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self.lists: set[str] = set()
        self._style = ""

    def begin(self, name: str, attributes: Attributes, /) -> None:
        value = attributes.get(":val", "")
        if name == "style":
            self._style = attributes.get(":styleId", "")
        elif name == "numPr" and self._style:
            self.lists.add(self._style)
        elif name == "name" and self._style:
            # Names are English in every language's Word, ids are not.
            words = value.lower().split()
            if words[:1] == ["heading"] and words[-1].isdigit():
                self.levels[self._style] = int(words[-1])
            elif words == ["title"]:
                self.levels[self._style] = 1

    def end(self, name: str, /) -> None:
        if name == "style":
            self._style = ""


@dataclass
class _Paragraph:
    """What is known of a paragraph that is read."""

    text: list[str] = field(default_factory=list)
    style: str = ""
    listed: bool = False
    depth: int = 0
    links: list[tuple[int, str]] = field(default_factory=list)


class _Story(Handler):
    """Reads paragraphs and tables. Tables become rows of cells; one within a cell is its text."""

    def __init__(self, styles: _Styles, links: Mapping[str, str]) -> None:
        self._styles, self._targets = styles, links
        self.lines: list[str] = []
        # A paragraph may stand within another one: in a text box.
        self._open: list[_Paragraph] = []
        self._rows: list[list[str]] = []
        self._cells: list[list[str]] = []
        self._in_text = False
        self._skipped = 0

    def begin(self, name: str, attributes: Attributes, /) -> None:
        if self._skipped or name in _LEFT_OUT:
            self._skipped += 1
        elif name == "p":
            self._open.append(_Paragraph())
        elif name == "tr":
            self._rows.append([])
        elif name == "tc":
            self._cells.append([])
        elif self._open:
            self._inside(name, attributes, self._open[-1])

    def _inside(self, name: str, attributes: Attributes, paragraph: _Paragraph) -> None:
        if name == "t":
            self._in_text = True
        elif name in _BREAKS and not _is_tab_stop(name, attributes):
            paragraph.text.append(_BREAKS[name])
        elif name == "pStyle":
            paragraph.style = attributes.get(":val", "")
        elif name == "numPr":
            paragraph.listed = True
        elif name == "ilvl":
            value = attributes.get(":val", "")
            paragraph.depth = int(value) if value.isdigit() and len(value) == 1 else 0
        elif name == "hyperlink":
            paragraph.links.append(
                (len(paragraph.text), self._targets.get(attributes.get(":id", ""), ""))
            )
        elif name in _REFERENCES:
            paragraph.text.append(f"[^{_REFERENCES[name]}{attributes.get(':id', '')}]")

    def characters(self, text: str, /) -> None:
        if self._in_text and self._open:
            self._open[-1].text.append(text)

    def end(self, name: str, /) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name == "t":
            self._in_text = False
        elif name == "hyperlink" and self._open and self._open[-1].links:
            _link(self._open[-1])
        elif name == "p" and self._open:
            self._add(self._written(self._open.pop()))
        elif name == "tc" and self._cells:
            cell = " ".join(" ".join(self._cells.pop()).split())
            if self._rows:
                self._rows[-1].append(cell.replace("|", "\\|"))
        elif name == "tr" and self._rows:
            self._add("| " + " | ".join(self._rows.pop()) + " |", row=True)

    def _written(self, paragraph: _Paragraph) -> str:
        text = "".join(paragraph.text).strip()
        level = self._styles.levels.get(paragraph.style, 0)
        if not text or self._cells:
            return text
        if level:
            return "#" * min(level, _DEEPEST_HEADING) + f" {text}"
        if paragraph.listed or paragraph.style in self._styles.lists:
            return "  " * paragraph.depth + f"- {text}"
        return text

    def _add(self, text: str, *, row: bool = False) -> None:
        if self._cells:
            self._cells[-1].append(text)
        elif self._open:
            # A text box: its words stand where it is anchored.
            self._open[-1].text.append(f" {text} ")
        elif text:
            self.lines.append(text + ("\n" if row else "\n\n"))


def _is_tab_stop(name: str, attributes: Attributes) -> bool:
    """Whether a tab is only the place of one, in the properties of a paragraph."""
    return name == "tab" and bool(attributes)


def _link(paragraph: _Paragraph) -> None:
    at, target = paragraph.links.pop()
    text = "".join(paragraph.text[at:])
    if target and text.strip():
        paragraph.text[at:] = [text if target in text else f"[{text}]({target})"]


class _Notes(Handler):
    """Reads numbered notes, each with a story of its own."""

    def __init__(self, element: str, links: Mapping[str, str]) -> None:
        self._element, self._links = element, links
        self.found: list[tuple[str, str]] = []
        self._number = ""
        self._story: _Story | None = None

    def begin(self, name: str, attributes: Attributes, /) -> None:
        if name == self._element:
            # Lines that separate notes from the text are notes, too, for Word.
            real = attributes.get(":type", "normal") == "normal"
            self._number = attributes.get(":id", "")
            self._story = _Story(_Styles(), self._links) if real else None
        elif self._story is not None:
            self._story.begin(name, attributes)

    def characters(self, text: str, /) -> None:
        if self._story is not None:
            self._story.characters(text)

    def end(self, name: str, /) -> None:
        if name == self._element and self._story is not None:
            text = " ".join("".join(self._story.lines).split())
            if text:
                self.found.append((self._number, text))
            self._story = None
        elif self._story is not None:
            self._story.end(name)
