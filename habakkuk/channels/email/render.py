"""Markdown to the simple HTML that programs for mail show.

Everything that is no known mark is text: HTML is shown as it was written, and pictures become
links, since loading one would tell its server what an agent was talked into
writing.
"""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlsplit

import pyromark
from pyromark import Options

_OPTIONS = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS
_SCHEMES = {"http", "https", "mailto", "tel"}
_CELL = "border:1px solid #999;padding:2px 8px"
_BREAKS = {"SoftBreak": "\n", "HardBreak": "<br>\n", "Rule": "<hr>\n"}
# What stands before and behind each block; right-to-left text finds its direction by itself.
_AROUND = {
    "Paragraph": ('<p dir="auto">', "</p>\n"),
    "HtmlBlock": ('<p dir="auto">', "</p>\n"),
    "Item": ('<li dir="auto">', "</li>\n"),
    "CodeBlock": ('<pre dir="ltr" style="overflow:auto"><code>', "</code></pre>\n"),
    "BlockQuote": ("<blockquote>\n", "</blockquote>\n"),
    "Table": ('<table style="border-collapse:collapse">\n', "</table>\n"),
    "TableHead": ("<tr>", "</tr>\n"),
    "TableRow": ("<tr>", "</tr>\n"),
    "Emphasis": ("<em>", "</em>"),
    "Strong": ("<strong>", "</strong>"),
    "Strikethrough": ("<del>", "</del>"),
}
_HEAD = '<!DOCTYPE html>\n<html><head><meta charset="utf-8"></head><body dir="auto">\n'
_FOOT = "</body></html>\n"


def page(markdown: str) -> str:
    """Return a whole page that shows Markdown."""
    rendering = _Rendering()
    for event in pyromark.events(markdown, options=_OPTIONS):
        rendering.take(event)
    return f"{_HEAD}{''.join(rendering.pieces)}{_FOOT}"


class _Rendering:
    """The pieces of a page, in order, and what closes those that are open."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._closing: list[str] = []
        self._cell = "td"

    def take(self, event: Any) -> None:
        """Take the next event."""
        if isinstance(event, str):
            self.pieces.append(_BREAKS[event])
            return
        kind, inside = next(iter(event.items()))
        if kind == "Start":
            opening, closing = self._around(inside)
            self.pieces.append(opening)
            self._closing.append(closing)
        elif kind == "End":
            self.pieces.append(self._closing.pop())
        elif kind == "Code":
            self.pieces.append(f"<code>{escape(inside)}</code>")
        elif kind == "TaskListMarker":
            self.pieces.append("☑ " if inside else "☐ ")
        else:
            # Text, and HTML, which is text as well.
            self.pieces.append(escape(str(inside)))

    def _around(self, started: Any) -> tuple[str, str]:
        """Return what stands before and behind a block or a mark."""
        name, inside = _named(started)
        if name in {"Link", "Image"}:
            target = inside["dest_url"]
            return (f'<a href="{escape(target)}">', "</a>") if _opens(target) else ("", "")
        if name == "Heading":
            level = inside["level"].lower()
            return f'<{level} dir="auto">', f"</{level}>\n"
        if name == "List":
            return ("<ul>\n", "</ul>\n") if inside is None else (_ordered(inside), "</ol>\n")
        if name in {"TableHead", "TableRow"}:
            self._cell = "th" if name == "TableHead" else "td"
        if name == "TableCell":
            return f'<{self._cell} style="{_CELL}">', f"</{self._cell}>"
        return _AROUND.get(name, ("", ""))


def _named(started: Any) -> tuple[str, Any]:
    return next(iter(started.items())) if isinstance(started, dict) else (started, None)


def _ordered(first: int) -> str:
    return f'<ol start="{first}">\n'


def _opens(target: str) -> bool:
    try:
        return urlsplit(target).scheme.lower() in _SCHEMES
    except ValueError:
        return False
