"""Markdown as Slack's markdown block takes it, and the blocks around it.

https://docs.slack.dev/reference/block-kit/blocks/markdown-block: a block of it takes Markdown as
models write it. But `<!channel>` and `<@U…>` call people there as well, and what looks like HTML is
left out: so outside of code a `<` that could begin either is written as an entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyromark

from habakkuk.channels.messages import Button
from habakkuk.channels.slack import mrkdwn
from habakkuk.core.text import shorten

Block = Mapping[str, Any]
_Span = tuple[int, int]
# https://docs.slack.dev/reference/block-kit/blocks: a section's text, a message's blocks, an
# actions block's elements, a button's text and value.
_SECTION, _MOST_BLOCKS, _ROW = 3000, 50, 25
_LABEL, _VALUE = 75, 2000
# https://docs.slack.dev/reference/methods/chat.postMessage: beyond it Slack cuts a text anywhere.
LONGEST_TEXT, _CUT = 40_000, "…"
# What phones show of a message that has blocks.
_NOTIFIED = 300
_OPENING = re.compile(rb"<(?=[@!#/?A-Za-z])")
_AUTOLINK = re.compile(rb"<(?:https?://|mailto:)[^\s<>]*>")
# Up to here a line has nothing but what marks lists and quotes.
_LINE_START = re.compile(rb"[\s>*+\-0-9.)]*")
_ENTITY = b"&lt;"
_LETTER = ord("a")


def render(markdown: str) -> str:
    """Return Markdown that shows every `<` and calls nobody."""
    if "<" not in markdown:
        return markdown
    source = markdown.encode()
    pieces, last = [], 0
    for place in _places(source):
        pieces += [source[last:place], _ENTITY]
        last = place + 1
    return b"".join([*pieces, source[last:]]).decode()


def shown_length(markdown: str) -> int:
    """Return how many characters Slack counts."""
    return len(render(markdown))


def blocks(markdown: str, buttons: Sequence[Button]) -> list[Block]:
    """Return a message's blocks."""
    # A message may be nothing but blanks, which a block may not.
    shown = render(markdown) if markdown.strip() else "\u200b"
    return [{"type": "markdown", "text": shown}, *_actions(buttons)]


def plain_blocks(markdown: str, buttons: Sequence[Button]) -> list[Block]:
    """Return a message's blocks without formatting, for when Slack refuses it."""
    rows = _actions(buttons)
    pieces = [markdown[n : n + _SECTION] for n in range(0, len(markdown), _SECTION)]
    return [
        {"type": "section", "text": {"type": "plain_text", "text": piece, "emoji": False}}
        for piece in pieces[: _MOST_BLOCKS - len(rows)]
        if piece.strip()
    ] + rows


def notice(text: str) -> Block:
    """Return what stands in small letters below a message."""
    element = {"type": "plain_text", "text": shorten(text, _SECTION), "emoji": False}
    return {"type": "context", "elements": [element]}


def notification(markdown: str) -> str:
    """Return what phones show of a message; nobody is called by it."""
    return mrkdwn.escaped(shorten(markdown.strip(), _NOTIFIED)) or "\u200b"


def fallback(markdown: str) -> str:
    """Return a message's text for when Slack takes no blocks; cut where it is too long as sent."""
    told = mrkdwn.escaped(markdown)
    if len(told) <= LONGEST_TEXT:
        return told
    kept, room = 0, LONGEST_TEXT - len(_CUT)
    for character in markdown:
        room -= len(mrkdwn.escaped(character))
        if room < 0:
            break
        kept += 1
    return mrkdwn.escaped(markdown[:kept]) + _CUT


def _actions(buttons: Sequence[Button]) -> list[Block]:
    made = [_button(one, number) for number, one in enumerate(buttons)]
    rows = [made[start : start + _ROW] for start in range(0, len(made), _ROW)]
    return [{"type": "actions", "elements": row} for row in rows]


def _button(button: Button, number: int) -> Block:
    label = {"type": "plain_text", "text": shorten(button.label, _LABEL), "emoji": False}
    # Each action of a message needs a name of its own.
    return {"type": "button", "text": label, "value": button.data, "action_id": f"button-{number}"}


def _places(source: bytes) -> Iterator[int]:
    """Yield where a `<` stands that is neither escaped, nor code, nor the beginning of a link."""
    links = _mask(source, [found.span() for found in _AUTOLINK.finditer(source)])
    found = [one.start() for one in _OPENING.finditer(source) if not links[one.start()]]
    # Once these are entities nothing is HTML any more, in which code would not be code.
    entities = bytearray(source)
    for place in found:
        entities[place] = _LETTER
    blocks_of_code, spans = (_mask(source, places) for places in _code(entities.decode()))
    for place in found:
        line = source[source.rfind(b"\n", 0, place) + 1 : place]
        escaped = (len(line) - len(line.rstrip(b"\\"))) % 2
        # HTML that begins a line ends a span of code, whatever was to come.
        inside = spans[place] and _LINE_START.fullmatch(line) is None
        if not escaped and not inside and not blocks_of_code[place]:
            yield place


def _mask(source: bytes, spans: Sequence[_Span]) -> bytearray:
    """Return for each byte whether it stands in one of the spans."""
    mask = bytearray(len(source))
    for start, end in spans:
        mask[start:end] = b"\1" * (end - start)
    return mask


def _code(markdown: str) -> tuple[list[_Span], list[_Span]]:
    """Return where blocks and spans of code stand, in UTF-8 offsets."""
    blocks_of_code: list[_Span] = []
    spans: list[_Span] = []
    for event, place in pyromark.events_with_range(markdown):
        kind, inside = next(iter(event.items())) if isinstance(event, dict) else (event, None)
        if kind == "Code":
            spans.append((place["start"], place["end"]))
        elif kind == "Start" and isinstance(inside, dict) and "CodeBlock" in inside:
            blocks_of_code.append((place["start"], place["end"]))
    return blocks_of_code, spans
