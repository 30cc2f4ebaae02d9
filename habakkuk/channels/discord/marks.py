"""What has to be changed in Markdown for Discord: found in one walk over its parser's events."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pyromark.event import Range

from habakkuk.channels.discord.tables import Table

_BULLET = re.compile(rb"\+|\d{1,9}\)")
_FENCE = re.compile(rb"```([A-Za-z0-9_+.#-]*)[ \t]*\r?\n")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]*")
_OPEN_ADDRESS = re.compile(rb"https?://[^\s<]*\Z")
_PAIRS = re.compile(r"`{2,}")
_TICKS = re.compile(r"`{3,}")
_CLOSED = re.compile(rb"\n[ \t]*```[ \t]*\Z")
_QUOTED = re.compile(rb"^ {0,3}(?:>[ \t]?)+", re.MULTILINE)
_ADDRESS = re.compile(rb"https?://[^\s<]+")
_WEB = re.compile(r"https?://", re.IGNORECASE)
_CLOSING_MARKS = re.compile(rb"[ \t]#+[ \t]*(?=\r?\n|\Z)")
# What Discord may take for a mark or a mention; within words it does not take one underscore.
_LIVE = re.compile(
    rb"\*{2,}|\*(?=\S)|(?<![A-Za-z0-9])_|__+|~~+|\|\|+|`+|<(?=[@#])|@(?=everyone|here)"
    rb"|(?m:^[ \t]*)-#(?= )"
)
_THIRD = b"### "
_LEVELS = {"H1": b"# ", "H2": b"## "}
_BOXES = {True: "☑".encode(), False: "☐".encode()}
# Between two of three backticks, which would end the block that they stand in.
_APART = "\u200b"


class Patch(NamedTuple):
    """What is put in the place of some bytes."""

    start: int
    end: int
    text: bytes


class Marks:
    """The events of one text, in their order, and the patches that follow from them."""

    def __init__(self, source: bytes) -> None:
        """Begin a walk over a text in UTF-8."""
        self._source = source
        self._patches: list[Patch] = []
        self._code: _Code | None = None
        self._table: Table | None = None
        # Where code stands, and what becomes of it.
        self._blocks: list[tuple[int, int]] = []
        self._spans: list[tuple[int, int]] = []
        self._plain: list[tuple[int, int]] = []
        self._quotes = 0
        # Where the last event ended, by which the end of a link's label is known.
        self._end = 0
        self._begins: Mapping[str, Callable[[Any, Range], None]] = {
            "Heading": self._heading,
            "Strong": self._strong,
            "Strikethrough": self._struck,
            "Image": self._image,
            "Item": self._item,
            "BlockQuote": self._quote,
            "CodeBlock": self._code_begins,
            "Table": self._table_begins,
            "TableCell": self._cell,
            "TableRow": self._row,
        }
        self._ends: Mapping[str, Callable[[Range], None]] = {
            "Link": self._link_ends,
            "Image": self._link_ends,
            "BlockQuote": self._quote_ends,
            "CodeBlock": self._code_ends,
            "Table": self._table_ends,
        }
        self._targets: list[tuple[str, str]] = []

    def at(self, event: Any, place: Range) -> None:
        """Take the next event."""
        kind, inside = _named(event)
        if kind == "Start":
            name, more = _named(inside)
            if name in ("Link", "Image"):
                self._targets.append((more["link_type"], more["dest_url"]))
            begin = self._begins.get(name)
            if begin is not None:
                begin(more, place)
            self._end = place["start"]
            return
        if kind == "End":
            end = self._ends.get(_named(inside)[0])
            if end is not None:
                end(place)
        else:
            self._inline(kind, inside, place)
        self._end = place["end"]

    def patches(self) -> Iterator[Patch]:
        """Yield what has to be changed, in no order; where two meet, the outer one counts."""
        yield from self._patches
        yield from self._escapes()
        for found in _QUOTED.finditer(self._source):
            if not _within(found.start(), self._blocks) and found[0] != b"> ":
                yield Patch(found.start(), found.end(), b"> ")

    # Within a line.

    def _inline(self, kind: str, inside: Any, place: Range) -> None:
        if self._code is not None:
            self._code.content += str(inside)
        elif self._table is not None:
            if kind in ("Text", "Code", "InlineHtml"):
                self._table.says(str(inside))
        else:
            self._in_text(kind, inside, place["start"], place["end"])

    def _in_text(self, kind: str, inside: Any, start: int, end: int) -> None:
        if kind == "TaskListMarker":
            self._put(start, end, _BOXES[inside])
        elif kind == "HardBreak" and self._source[start : start + 1] == b"\\":
            self._put(start, start + 1, b"")
        elif kind == "Rule":
            self._rule(start, end)
        elif kind == "Code":
            self._blocks.append((start, end))
            self._spans.append((start, end))
            if self._source[start:end].startswith(b"```"):
                # Discord would begin a block of code there; an address takes the marks behind it.
                near = _OPEN_ADDRESS.search(self._source, max(0, start - 2000), start)
                lead = " " if near else ""
                self._put(start, end, f"{lead}{_span(str(inside))}".encode())
        elif kind in ("Text", "Html", "InlineHtml"):
            self._text(str(inside), start, end)

    def _text(self, said: str, start: int, end: int) -> None:
        written = self._source[start:end]
        if written[:1] == b"&" and written[-1:] == b";" and written != said.encode():
            # Discord knows no entities. What one stands for is never a mark.
            escape = b"\\" if said.isascii() and not said.isalnum() and said.strip() else b""
            self._put(start, end, escape + said.encode())
            return
        if start > self._end and self._source[start - 1 : start] == b"\\":
            # Its first character was escaped by who wrote it.
            start += 1
        self._plain.append((start, end))

    def _escapes(self) -> Iterator[Patch]:
        """Yield a backslash before each mark that stands in plain text, and each mention."""
        addresses = [found.span() for found in _ADDRESS.finditer(self._source)]
        # An address would take the marks of the code behind it.
        spans = (start for start, _ in self._spans)
        yield from (Patch(at, at, b" ") for at in spans if _is_inside(at, addresses))
        for found in _LIVE.finditer(self._source):
            mark = found[0].lstrip(b" \t")
            start = found.end() - len(mark)
            if _is_inside(start, addresses):
                continue
            if mark in (b"<", b"@"):
                yield from self._mention(start, addresses)
                continue
            for at in [start] if mark == b"-#" else range(start, found.end()):
                if _within(at, self._plain):
                    yield Patch(at, at, b"\\")

    def _mention(self, start: int, addresses: list[tuple[int, int]]) -> Iterator[Patch]:
        """Yield what keeps a mention from being one: it counts wherever there is no code."""
        # An address would take the backslash behind it, also one that was written.
        ends = not _within(start, addresses) and _within(start - 1, addresses)
        if not _within(start, self._blocks) and (ends or not self._is_escaped(start)):
            yield Patch(start, start, b" \\" if ends else b"\\")

    def _is_escaped(self, at: int) -> bool:
        before = self._source[:at]
        return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1

    def _strong(self, _more: Any, place: Range) -> None:
        start, end = place["start"], place["end"]
        inner = self._source[start + 2 : end - 2]
        if self._source[start : start + 2] == b"__" and b"*" not in inner[:1] + inner[-1:]:
            # There it would be underlined.
            self._put(start, start + 2, b"**")
            self._put(end - 2, end, b"**")

    def _struck(self, _more: Any, place: Range) -> None:
        start, end = place["start"], place["end"]
        if self._source[start : start + 2] != b"~~":
            self._put(start, start, b"~")
            self._put(end, end, b"~")

    def _image(self, _more: Any, place: Range) -> None:
        # A picture by its address is a link.
        self._put(place["start"], place["start"] + 1, b"")

    def _link_ends(self, place: Range) -> None:
        kind, target = self._targets.pop()
        label = self._end
        # Discord links to the web alone, and would take some other targets for mentions.
        leads = _WEB.match(target) is not None
        if kind in ("Inline", "Autolink", "Email") or label <= place["start"] + 1 or not leads:
            return
        self._put(label, place["end"], f"](<{target}>)".encode())

    # Blocks.

    def _heading(self, more: Any, place: Range) -> None:
        start, end = place["start"], place["end"]
        written = self._source[start:end]
        marks = len(written) - len(written.lstrip(b"#"))
        level = _LEVELS.get(more["level"], _THIRD)
        if not marks:
            # Underlined: its last line goes.
            last = written.rstrip().rfind(b"\n")
            self._put(start, start, level)
            self._put(start + last, start + len(written.rstrip()), b"")
            return
        if marks > len(_THIRD.strip()):
            self._put(start, start + marks, _THIRD.strip())
        closing = _CLOSING_MARKS.search(written, marks)
        if closing is not None:
            self._put(start + closing.start(), start + closing.end(), b"")

    def _rule(self, start: int, end: int) -> None:
        written = self._source[start:end].rstrip()
        if written != b"---":
            self._put(start, start + len(written), b"---")

    def _item(self, _more: Any, place: Range) -> None:
        found = _BULLET.match(self._source, place["start"])
        if found is not None:
            bullet = b"-" if found[0] == b"+" else found[0][:-1] + b"."
            self._put(found.start(), found.end(), bullet)

    def _quote(self, _more: Any, _place: Range) -> None:
        self._quotes += 1

    def _quote_ends(self, _place: Range) -> None:
        self._quotes -= 1

    def _code_begins(self, more: Any, place: Range) -> None:
        language = more.get("Fenced") if isinstance(more, dict) else None
        self._code = _Code(language or "")
        self._blocks.append((place["start"], place["end"]))

    def _code_ends(self, place: Range) -> None:
        code, self._code = self._code, None
        written = self._source[place["start"] : place["end"]]
        if code is None or code.is_known(written):
            return
        if not code.content.strip():
            # A block of nothing: its marks are all there is to show.
            self._plain.append(self._blocks.pop())
            return
        self._block(place, f"```{code.name}\n{_apart(code.content.rstrip(chr(10)))}\n```")

    def _table_begins(self, _more: Any, _place: Range) -> None:
        self._table = Table()

    def _row(self, _more: Any, _place: Range) -> None:
        if self._table is not None:
            self._table.row()

    def _cell(self, _more: Any, _place: Range) -> None:
        if self._table is not None:
            self._table.cell()

    def _table_ends(self, place: Range) -> None:
        table, self._table = self._table, None
        if table is not None:
            self._blocks.append((place["start"], place["end"]))
            self._block(place, f"```\n{_apart(table.drawn())}\n```")

    def _block(self, place: Range, shown: str) -> None:
        """Put a block in the place of another, with what stands before the lines of a quote."""
        tail = "\n" if self._source[: place["end"]].endswith(b"\n") else ""
        between = "\n> " if self._quotes else "\n"
        made = shown.replace("\n", between) + tail
        self._put(place["start"], place["end"], made.encode())

    def _put(self, start: int, end: int, text: bytes) -> None:
        self._patches.append(Patch(start, end, text))


class _Code:
    """A block of code: what stands in it, and behind its fence."""

    def __init__(self, info: str) -> None:
        word = info.split(maxsplit=1)[0] if info.split() else ""
        self.name = word if _LANGUAGE.fullmatch(word) else ""
        self.content = ""
        self._info = info

    def is_known(self, written: bytes) -> bool:
        """Say whether Discord reads the block as it was written."""
        fence = _FENCE.match(written)
        whole = fence is not None and fence[1].decode() == self._info.strip()
        closed = _CLOSED.search(written) is not None and "```" not in self.content
        return whole and closed and bool(self.content.strip())


def _span(said: str) -> str:
    """Return code within a line as Discord reads it, between one or two backticks."""
    if "`" not in said:
        return f"`{said}`"
    apart = _PAIRS.sub(lambda found: _APART.join(found[0]), said)
    return f"`` {apart} ``"


def _within(at: int, places: list[tuple[int, int]]) -> bool:
    """Say whether a byte is in one of some places, which stand in order and apart."""
    found = bisect_right(places, (at, sys.maxsize)) - 1
    return found >= 0 and at < places[found][1]


def _is_inside(at: int, places: list[tuple[int, int]]) -> bool:
    """Say whether a place goes on across the beginning of a byte."""
    return _within(at, places) and _within(at - 1, places)


def _named(event: Any) -> tuple[str, Any]:
    """Return the name of an event or of a block, and what it has."""
    if isinstance(event, dict):
        name, more = next(iter(event.items()))
        return str(name), more
    return str(event), None


def _apart(text: str) -> str:
    return _TICKS.sub(lambda found: _APART.join(found[0]), text)
