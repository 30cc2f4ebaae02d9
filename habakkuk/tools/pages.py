"""What of an answer from the web a model can read: Markdown of a page, text of a text."""

from __future__ import annotations

import codecs
import html
import json
import re
from dataclasses import dataclass

from habakkuk.core.errors import ToolError
from habakkuk.core.http import Fetched
from habakkuk.core.text import clean

_HTML = {"text/html", "application/xhtml+xml"}
_JSON = {"application/json"}
_TEXTS = {"application/xml", "application/javascript", "application/yaml", "application/toml"}
_SNIFFED = {"", "application/octet-stream", "binary/octet-stream"}
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_TAGS = re.compile(r"<(script|style|template|noscript)\b.*?</\1\s*>|<[^>]*>", re.S | re.I)
_TITLE = re.compile(r"<title\b[^>]*>([^<]*)", re.IGNORECASE)
_TITLE_WITHIN = 200_000
# Parsing is quadratic in the worst pages; nobody reads more of one.
_HTML_LIMIT = 3_000_000
_SNIFF = 2_000


@dataclass(frozen=True)
class Page:
    """What can be read, and its title when it has one."""

    text: str
    title: str | None = None


def readable(fetched: Fetched) -> Page:
    """Return an answer's text. Raises ToolError that says what it is when it is none."""
    kind = fetched.content_type.partition(";")[0].strip().lower()
    if kind in _SNIFFED:
        kind = _sniffed(fetched.body, kind)
    if kind in _HTML:
        return _page(_decoded(fetched, page=True))
    if kind in _JSON or kind.endswith("+json"):
        return Page(_indented(_decoded(fetched)))
    if kind.startswith("text/") or kind in _TEXTS or kind.endswith("+xml"):
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
    try:
        text = fetched.body.decode(charset or "utf-8-sig", "replace")
    except (LookupError, ValueError):
        # No such encoding, or one that is none of text.
        text = fetched.body.decode("utf-8", "replace")
    return clean(text)


def _indented(text: str) -> str:
    """Return JSON with line breaks, so that it can be cut and read; else what came."""
    if "\n" in text.strip():
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def _page(source: str) -> Page:
    # Slow to import (0.2 s, 12 MB): only workers that read a page pay for it.
    import trafilatura  # noqa: PLC0415 - see above

    source = source[:_HTML_LIMIT]
    text = trafilatura.extract(
        source,
        output_format="markdown",
        include_links=True,
        include_tables=True,
        include_comments=False,
        favor_recall=True,
        deduplicate=False,
    )
    return Page(clean(text or _stripped(source)), _title(source))


def _title(source: str) -> str | None:
    found = _TITLE.search(source, 0, _TITLE_WITHIN)
    return " ".join(html.unescape(found[1]).split())[:300] or None if found else None


def _stripped(source: str) -> str:
    """Return the words of a page in which no article was found."""
    text = html.unescape(_TAGS.sub(" ", source))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
