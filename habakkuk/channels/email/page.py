"""The text of a mail that came as HTML alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from habakkuk.core.text import clean

_SILENT = {"script", "style", "head", "title", "template", "noscript", "object", "svg", "math"}
_BLOCKS = {
    *("address", "article", "aside", "center", "dd", "div", "dl", "dt", "fieldset", "figure"),
    *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav"),
    *("ol", "p", "pre", "section", "table", "tr", "ul", "body", "blockquote"),
}
# Between these stands an empty line; between the others a new one begins.
_APART = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote", "pre"}
_SPACE = re.compile(r"[ \t\r\n\f\u200b\u200c\u00ad\ufeff]+")
_BREAK, _GAP = "\n", "\n\n"


def text_of_html(page: str) -> str:
    """Return what people read of a page, quotes led by `>`; empty when there is nothing."""
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(clean(page).encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return ""
    return _Reading().text(root) if root is not None else ""


class _Line:
    """A line that grows: a stranger's page may have one of a million pieces."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.is_blank = True

    @property
    def takes_space(self) -> bool:
        """Whether a blank may stand next: at the start and behind another it is one too many."""
        return bool(self._pieces) and not self._pieces[-1].endswith(" ")

    def add(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self.is_blank = self.is_blank and not text.strip()

    def taken(self) -> str:
        """Return the line, and begin the next one."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self.is_blank = True
        return text


class _Reading:
    """One walk over a page: lines are put together piece by piece."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line = _Line()
        self._quotes = 0
        self._pre = 0
        self._silent = 0

    def text(self, root: etree._Element) -> str:
        for event, element in etree.iterwalk(root, events=("start", "end")):
            if not isinstance(element.tag, str):
                continue
            if event == "start":
                self._begins(element)
            else:
                self._ends(element)
        self._new_line()
        return re.sub(r"\n{3,}", _GAP, "\n".join(self._lines)).strip()

    def _begins(self, element: etree._Element) -> None:
        name = element.tag
        self._silent += name in _SILENT
        if name == "br":
            self._lines.append(self._finished())
        elif name in _BLOCKS:
            self._new_line(apart=name in _APART)
        if name == "li":
            self._line.add("- ")
        elif name in {"td", "th"} and not self._line.is_blank:
            self._line.add(" | ")
        self._quotes += name == "blockquote"
        self._pre += name == "pre"
        self._say(element.text)

    def _ends(self, element: etree._Element) -> None:
        name = element.tag
        if name == "a":
            self._say(_target(element))
        if name in _BLOCKS:
            self._new_line(apart=name in _APART)
        self._quotes -= name == "blockquote"
        self._pre -= name == "pre"
        self._silent -= name in _SILENT
        self._say(element.tail)

    def _say(self, text: str | None) -> None:
        if not text or self._silent:
            return
        if self._pre:
            *ended, last = text.split("\n")
            for end in ended:
                self._line.add(end)
                self._lines.append(self._lead() + self._line.taken())
            self._line.add(last)
            return
        said = _SPACE.sub(" ", text)
        self._line.add(said if self._line.takes_space else said.lstrip())

    def _new_line(self, *, apart: bool = False) -> None:
        if not self._line.is_blank:
            self._lines.append(self._finished())
        self._line.taken()
        if apart and self._lines and self._lines[-1].strip(" >"):
            self._lines.append(self._lead().rstrip())

    def _finished(self) -> str:
        line = f"{self._lead()}{self._line.taken().rstrip()}"
        return line.rstrip() if line.strip(" >") else self._lead().rstrip()

    def _lead(self) -> str:
        return "> " * min(self._quotes, 5)


def _target(link: etree._Element) -> str:
    """Return where a link leads, unless that is what it says."""
    target = (link.get("href") or "").strip()
    said = "".join(_texts(link)).strip()
    if not target.lower().startswith(("http://", "https://")) or target.rstrip("/") in said:
        return ""
    return f" ({target})"


def _texts(element: etree._Element) -> Iterator[str]:
    for part in element.itertext():
        yield str(part)
