"""Markdown to the part of it that Discord knows (its help, "Markdown Text 101"; K44, K45).

The text stays as it was written but for what Discord would show otherwise: tables, rules, pictures,
headings below the third, other fences and bullets, and what it takes for marks or mentions where
Markdown has plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import pyromark
from pyromark import Options

from habakkuk.channels.discord.marks import Marks, Patch
from habakkuk.core.text import utf16_units

_OPTIONS = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS
# Without any of these nothing stands in a text that is shown otherwise.
_SPECIAL = re.compile(r"[*_~`|<>@&\\#+=\[\])-]|^(?: {4}|\t)", re.MULTILINE)


# A part is measured before it is sent, and those of a long answer one after the other.
@lru_cache(maxsize=64)
def render(markdown: str) -> str:
    """Return what is sent for Markdown."""
    if _SPECIAL.search(markdown) is None:
        return markdown
    source = markdown.encode()
    marks = Marks(source)
    for event, place in pyromark.events_with_range(markdown, options=_OPTIONS):
        marks.at(event, place)
    shown = _patched(source, marks.patches()).decode()
    # Nothing but marks: they are all there is to show.
    return shown if shown.strip() else markdown


def shown_length(markdown: str) -> int:
    """Return how long a message of this Markdown is, in UTF-16 units: never less than characters.

    Discord's reference says "characters" and leaves open which.
    """
    return utf16_units(render(markdown))


def _patched(source: bytes, patches: Iterable[Patch]) -> bytes:
    """Return the source with its patches; of two at one place the outer one counts."""
    pieces = []
    done = 0
    for patch in sorted(patches, key=lambda one: (one.start, -one.end)):
        if patch.start < done:
            continue
        pieces += [source[done : patch.start], patch.text]
        done = patch.end
    return b"".join([*pieces, source[done:]])
