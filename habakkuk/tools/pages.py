"""What of an answer from the web a model can read: Markdown of a page, text of a text."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from encodings.aliases import aliases
from pathlib import Path

from habakkuk.core.errors import ToolError
from habakkuk.core.http import Fetched
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.programs import Bounds
from habakkuk.core.readers import BROKE_OFF, NoAnswer, Readers
from habakkuk.core.text import clean

_HTML = {"text/html", "application/xhtml+xml"}
_TEXTS = {
    "application/json",
    "application/xml",
    "application/javascript",
    "application/yaml",
    "application/toml",
}
_SNIFFED = {"", "application/octet-stream", "binary/octet-stream"}
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
# What pages are written in. Python has others, and no page may choose one: to decode punycode takes
# the square of the length, for hours, and nothing can interrupt it.
_CODECS = re.compile(
    "ascii|utf_8(_sig)?|utf_(16|32)(_[bl]e)?|latin_1|iso8859_([1-9]|1[0134-6])|tis_620|koi8_[rtu]"
    "|mac_(roman|cyrillic|latin2)|cp(437|85[02]|866|874|125[0-8]|932|949|950)|gb2312|gbk|gb18030"
    "|big5(hkscs)?|euc_(jp|kr)|iso2022_jp|shift_jis|johab"
)
_CHARSETS = {alias: codec for alias, codec in aliases.items() if _CODECS.fullmatch(codec)}
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PROGRAM = str(Path(__file__).with_name("markdown.py"))
_HTML_LIMIT = 3_000_000
_SECONDS = 20.0
# In JSON a character takes twelve bytes at most, and addresses of links become whole ones.
_MOST_ANSWER = 40_000_000
_SNIFF = 2_000


@dataclass(frozen=True)
class Page:
    """What can be read, and its title when it has one."""

    text: str
    title: str | None = None


def readable(fetched: Fetched, interrupt: Interrupt) -> Page:
    """Return an answer's text.

    Raises ToolError that says what it is when it is none, and Interrupted.
    """
    kind = fetched.content_type.partition(";")[0].strip().lower()
    if kind in _SNIFFED:
        kind = _sniffed(fetched.body, kind)
    if kind in _HTML:
        return _page(_decoded(fetched, page=True), fetched.url, interrupt)
    if kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+xml", "+json")):
        return Page(_decoded(fetched))
    raise ToolError(
        f"{fetched.url} is {kind or 'data of no named type'} ({len(fetched.body)} bytes), not text;"
        " this tool reads pages, texts and JSON"
    )


def _sniffed(body: bytes, kind: str) -> str:
    start = body[:_SNIFF].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "text/html"
    if b"\0" in body[:_SNIFF]:
        return kind
    try:
        # The last character of a part may be cut: an incremental decoder waits for its rest.
        codecs.getincrementaldecoder("utf-8")().decode(body[:_SNIFF])
    except UnicodeDecodeError:
        return kind
    return "text/plain"


def _decoded(fetched: Fetched, *, page: bool = False) -> str:
    named = _CHARSET.search(fetched.content_type)
    charset = named[1] if named else None
    if charset is None and page:
        found = _META_CHARSET.search(fetched.body[:_SNIFF])
        charset = found[1].decode("ascii", "replace") if found else None
    if fetched.body.startswith(_MARKS):
        # A byte order mark counts for more than what is said of the text.
        charset = "utf_16"
    return clean(fetched.body.decode(_codec(charset or ""), "replace"))


def _codec(charset: str) -> str:
    """Return Python's name of an encoding; one that is not known is read as UTF-8."""
    name = charset.lower().replace("-", "_")
    return name if _CODECS.fullmatch(name) else _CHARSETS.get(name, "utf_8_sig")


def _page(source: str, url: str, interrupt: Interrupt) -> Page:
    """Have a page turned by a program of its own. Raises ToolError, Interrupted."""
    readers = Readers(_PROGRAM, Bounds(_SECONDS, _MOST_ANSWER))
    try:
        answer = readers.ask({"url": url}, source[:_HTML_LIMIT].encode(), interrupt)
        told = json.loads(answer)
        return Page(clean(str(told["text"])), clean(str(told["title"])) or None)
    except NoAnswer as error:
        raise ToolError(f"this page cannot be read: {error}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        # Whoever took the program over can answer anything.
        raise ToolError(f"this page cannot be read: {BROKE_OFF}") from error
