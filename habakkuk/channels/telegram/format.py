"""Markdown to what Telegram shows: a text, and entities that stand in UTF-16 units (K44, K45).

The library leaves HTML out, and unused references, and where a link leads that Telegram does not
open, hides what stands between two `||`, and takes the dollars from amounts. Here all of that is
text that somebody wrote, so it is marked as such before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pyromark
import telegramify_markdown
from pyromark.event import Range
from telegramify_markdown import MessageEntity, RenderConfig
from telegramify_markdown.converter import STANDARD_OPTIONS

from habakkuk.core.text import utf16_units

# What Telegram takes of one message; more are dropped without a word.
_MOST_ENTITIES = 100
# Those that hold what the text alone does not say come first.
_DEAREST = ("text_link", "pre", "code")
_SCHEMES = {"http", "https", "mailto", "tel", "tg", "ton"}
# Each look escapes what the last one uncovered; what is still found then is no Markdown.
_MOST_LOOKS = 8
# How much longer than its source a line may be shown: a rule, a longer number, a break.
_GROWTH = 6
_ESCAPE = b"\\"
_FORMULA = re.compile(r"[\\^_={}]")


@dataclass(frozen=True)
class Formatted:
    """A text as it is sent; `plain` is what is sent when Telegram refuses the entities."""

    text: str
    entities: tuple[MessageEntity, ...]
    plain: str


# A part is measured before it is sent, and those of a long answer one after the other.
@lru_cache(maxsize=64)
def render(markdown: str, limit: int) -> Formatted:
    """Return what Telegram shows for Markdown; `plain` keeps to `limit` where `text` does."""
    escaped = _escaped(markdown)
    if escaped is None:
        return Formatted(markdown, (), markdown)
    text, entities = telegramify_markdown.convert(escaped, latex_escape=False, config=_CONFIG)
    if not text.strip():
        # Nothing but marks: they are all there is to show.
        return Formatted(markdown, (), markdown)
    plain = markdown if utf16_units(markdown) <= limit else text
    return Formatted(text, _kept(entities), plain)


def shown_length(markdown: str, limit: int) -> int:
    """Return how many UTF-16 units Telegram counts; at most so many where that is within `limit`.

    Only what grows by an unknown amount when shown, a table or a formula, has to be rendered to
    know that it fits.
    """
    if not any(mark in markdown for mark in "|$"):
        most = utf16_units(markdown) + _GROWTH * (markdown.count("\n") + 1)
        if most <= limit:
            return most
    return utf16_units(render(markdown, limit).text)


def _config() -> RenderConfig:
    """Return the library's settings without its pictures before headings and links."""
    config = RenderConfig.isolated()
    symbols = config.markdown_symbol
    symbols.heading_level_1 = symbols.heading_level_2 = ""
    symbols.heading_level_3 = symbols.heading_level_4 = ""
    symbols.image = ""
    symbols.unordered_list_item = "•"
    config.cite_expandable = False
    return config


_CONFIG = _config()


def _kept(entities: list[MessageEntity]) -> tuple[MessageEntity, ...]:
    """Return what Telegram takes, in the text's order."""
    usable = [one for one in entities if one.type != "custom_emoji"]
    if len(usable) > _MOST_ENTITIES:
        usable.sort(key=lambda one: one.type not in _DEAREST)
        usable = usable[:_MOST_ENTITIES]
    return tuple(sorted(usable, key=lambda one: (one.offset, -one.length)))


def _escaped(markdown: str) -> str | None:
    """Return Markdown in which all that is to be shown is text or known marks; None: it resists."""
    text = markdown
    for _ in range(_MOST_LOOKS):
        places = _left_out(text)
        if not places:
            return text
        text = _inserted(text.encode(), places)
    return None


def _inserted(source: bytes, places: Mapping[int, bytes]) -> str:
    ordered = sorted(places)
    pieces = [source[: ordered[0]]]
    for start, end in pairwise([*ordered, len(source)]):
        pieces += [places[start], source[start:end]]
    return b"".join(pieces).decode()


def _left_out(text: str) -> Mapping[int, bytes]:
    """Return what has to be put where, in UTF-8 offsets, so that nothing is left out."""
    if not any(mark in text for mark in ("<", "[", "||", "$")):
        return {}
    look = _Look(text.encode())
    for event, place in pyromark.events_with_range(text, options=STANDARD_OPTIONS):
        look.at(event, place)
    if "]:" in text:
        defined = pyromark.reference_definitions(text, options=STANDARD_OPTIONS).values()
        unused = (one["span"]["start"] for one in defined if one["dest"] not in look.led)
        look.found.update(dict.fromkeys(unused, _ESCAPE))
    return look.found


class _Look:
    """One look at the events of a text, in their order."""

    def __init__(self, source: bytes) -> None:
        self.found: dict[int, bytes] = {}
        self.led: set[str] = set()
        self._source = source
        self._code = False
        self._label = -1

    def at(self, event: Any, place: Range) -> None:
        """Take the next event."""
        kind, inside = next(iter(event.items())) if isinstance(event, dict) else (event, None)
        if kind == "Start":
            self._label = -1
            self._begins(inside, place)
            return
        if kind == "End" and inside in ("Link", "Image") and self._label >= 0:
            # Without a label there is nothing to press.
            self.found[self._label] = _ESCAPE
        if kind == "End" and inside == "CodeBlock":
            self._code = False
        self._label = -1
        if kind in {"InlineHtml", "Html"}:
            self._escape(b"<", place)
        elif kind == "Text" and not self._code:
            self._escape(b"||", place)
        elif kind == "InlineMath" and not _FORMULA.search(str(inside)):
            # Two amounts of money.
            self.found.update(dict.fromkeys((place["start"], place["end"] - 1), _ESCAPE))

    def _begins(self, block: Any, place: Range) -> None:
        if not isinstance(block, dict):
            return
        if "CodeBlock" in block:
            self._code = True
        elif "Table" in block:
            # An empty cell, which is as empty with a blank in it.
            self.found.update({at + 1: b" " for at in self._places(b"||", place)})
        elif "Link" in block or "Image" in block:
            target = (block.get("Link") or block["Image"])["dest_url"]
            self.led.add(target)
            self._label = place["start"]
            if not _opens(target):
                self.found[place["start"]] = _ESCAPE

    def _escape(self, mark: bytes, place: Range) -> None:
        self.found.update(dict.fromkeys(self._places(mark, place), _ESCAPE))

    def _places(self, mark: bytes, place: Range) -> Iterator[int]:
        """Yield where a mark stands in a place and is not escaped."""
        found = self._source.find(mark, place["start"], place["end"])
        while found >= 0:
            if self._source[found - 1 : found] != b"\\":
                yield found
            found = self._source.find(mark, found + 1, place["end"])


def _opens(target: str) -> bool:
    """Say whether Telegram opens a link; not one that would call a person, whoever wrote it."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return False
    scheme = parts.scheme.lower()
    calls = scheme == "tg" and (parts.netloc or parts.path).strip("/").lower() == "user"
    return scheme in _SCHEMES and not calls
