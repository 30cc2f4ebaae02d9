"""Turn a page into Markdown: `python -I markdown.py ORDER`, HTML in as UTF-8, JSON out.

A program of its own, with limits of its own: pages are written by anybody, the parser is C, and
some pages keep it busy for minutes. Once it has loaded what it reads with, it can open nothing more
(core/confined).
"""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path

import trafilatura

_CPU_SECONDS = 15
_WALL_SECONDS = 30
# A short and a long one are read in different ways.
_SAMPLES = [f"<html><body><p>{'Some words. ' * times}</p></body></html>" for times in (2, 200)]
_MEMORY = 1_500_000_000
# Bounded, so that a page of nothing but beginnings of titles costs no more than another.
_TITLE = re.compile(r"<title\b[^>]{0,500}>([^<]{0,1000})", re.IGNORECASE)
_TAG = re.compile(r"<!--.{0,5000}?-->|<[^<>]{0,5000}>", re.DOTALL)
_PROGRAM = re.compile(r"<(script|style|template|noscript)\b", re.IGNORECASE)
_TITLE_LENGTH = 300


def main() -> None:
    """Give up all but this, read, turn, write."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from habakkuk.core.confined import (  # noqa: PLC0415 - after the path is known
        Allowance,
        die_with_parent,
        give_up,
    )

    die_with_parent()
    # Loads the lists of words that it reads when they are first needed.
    for sample in _SAMPLES:
        turned(sample, "https://site.example/")
    url = json.loads(sys.argv[1])["url"]
    give_up(Allowance(_MEMORY, _CPU_SECONDS, _WALL_SECONDS))
    source = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(json.dumps(turned(source, url)).encode())


def turned(source: str, url: str) -> dict[str, str]:
    """Return the text and the title of a page."""
    return {"text": _markdown(source, url), "title": _title(source)}


def _markdown(source: str, url: str) -> str:
    found = trafilatura.extract(
        source,
        # Makes its links whole, so that they can be followed as they stand.
        url=url,
        output_format="markdown",
        include_links=True,
        include_tables=True,
        include_comments=False,
        favor_recall=True,
    )
    return found or _words(source)


def _words(source: str) -> str:
    """Return the words of a page, or a piece of one, in which no article was found."""
    text = html.unescape(_TAG.sub(" ", _without_programs(source)))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _without_programs(source: str) -> str:
    """Cut scripts and styles out, each up to its end or the page's."""
    parts: list[str] = []
    at = 0
    while begun := _PROGRAM.search(source, at):
        parts.append(source[at : begun.start()])
        ended = re.compile(f"</{begun[1]}", re.IGNORECASE).search(source, begun.end())
        if ended is None:
            return "".join(parts)
        at = ended.start()
    return "".join((*parts, source[at:]))


def _title(source: str) -> str:
    found = _TITLE.search(source)
    return " ".join(html.unescape(found[1]).split())[:_TITLE_LENGTH] if found else ""


if __name__ == "__main__":
    main()
