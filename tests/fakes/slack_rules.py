"""What Slack takes of a message, from its public documentation, and what people then see of it."""

from __future__ import annotations

import math
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# https://docs.slack.dev/reference/block-kit/blocks and .../block-elements/button-element
_MOST_BLOCKS, _MOST_ELEMENTS, _MOST_IN_CONTEXT = 50, 25, 10
_SECTION, _MARKDOWN, _LABEL, _VALUE, _ACTION = 3000, 12_000, 75, 2000, 255
# https://docs.slack.dev/reference/methods/chat.postMessage: beyond it a text is cut.
_TEXT = 40_000
# https://docs.slack.dev/reference/methods/chat.update: beyond it an update is refused.
UPDATED_TEXT = 4_000
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_CALL = re.compile(r"<(?:@[UW]|![a-z])")
_TS = re.compile(r"\d{10}\.\d{6}")


def faults_of(asked: Mapping[str, Any], longest_text: int = _TEXT) -> Iterator[tuple[str, str]]:
    """Yield Slack's word for each thing that is wrong, and what it is."""
    text, blocks = asked.get("text"), asked.get("blocks", [])
    if not asked.get("channel"):
        yield "channel_not_found", "no channel"
    if not text and not blocks and not asked.get("markdown_text"):
        yield "no_text", "neither text nor blocks"
    if asked.get("markdown_text") and (text or blocks):
        yield "markdown_text_conflict", "markdown_text beside something else"
    if len(str(text or "")) > longest_text:
        yield "msg_too_long", f"a text of {len(text or '')}"
    thread = asked.get("thread_ts")
    if thread is not None and _TS.fullmatch(str(thread)) is None:
        yield "invalid_thread_ts", f"the thread {thread}"
    if not text:
        yield "no_text", "blocks without a text for phones"
    yield from (("invalid_blocks", what) for what in _faults_of_blocks(blocks))


def _faults_of_blocks(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len(blocks) > _MOST_BLOCKS:
        yield f"{len(blocks)} blocks"
    markdown = sum(len(one["text"]) for one in blocks if one["type"] == "markdown")
    if markdown > _MARKDOWN:
        yield f"markdown of {markdown}"
    for block in blocks:
        yield from _FAULTS.get(block["type"], _unknown)(block)
    names = [
        one["action_id"]
        for block in blocks
        for one in block.get("elements", [])
        if "action_id" in one
    ]
    if len(names) != len(set(names)):
        yield "two actions of one name"


def _unknown(block: Mapping[str, Any]) -> Iterator[str]:
    yield f"a block of type {block['type']}"


def _markdown(block: Mapping[str, Any]) -> Iterator[str]:
    if not block["text"].strip():
        yield "an empty markdown block"


def _section(block: Mapping[str, Any]) -> Iterator[str]:
    text = block["text"]
    if text["type"] not in {"plain_text", "mrkdwn"} or not 0 < len(text["text"]) <= _SECTION:
        yield f"a section of {len(text['text'])}"


def _context(block: Mapping[str, Any]) -> Iterator[str]:
    if not 0 < len(block["elements"]) <= _MOST_IN_CONTEXT:
        yield f"{len(block['elements'])} elements of a context"


def _actions(block: Mapping[str, Any]) -> Iterator[str]:
    elements = block["elements"]
    if not 0 < len(elements) <= _MOST_ELEMENTS:
        yield f"{len(elements)} elements of an actions block"
    for button in elements:
        label = button["text"]
        if label["type"] != "plain_text" or not 0 < len(label["text"]) <= _LABEL:
            yield f"a button's label: {label}"
        if len(button["value"]) > _VALUE or not 0 < len(button["action_id"]) <= _ACTION:
            yield f"a button's value: {button}"


def _rich_text(block: Mapping[str, Any]) -> Iterator[str]:
    yield from ()


_FAULTS = {
    "markdown": _markdown,
    "section": _section,
    "context": _context,
    "actions": _actions,
    "rich_text": _rich_text,
}


def shown(asked: Mapping[str, Any]) -> str:
    """Return what people see of a message: its blocks, or its text where it has none."""
    said = [_said(block) for block in asked.get("blocks", [])]
    return "\n".join(text for text in said if text) or _unescaped(str(asked.get("text", "")))


def _said(block: Mapping[str, Any]) -> str:
    if block["type"] == "markdown":
        pieces = _CODE.split(block["text"])
        return "".join(
            piece if number % 2 else _unescaped(piece) for number, piece in enumerate(pieces)
        )
    if block["type"] == "section":
        return str(block["text"]["text"])
    if block["type"] == "context":
        return " ".join(one["text"] for one in block["elements"])
    return ""


def calls(asked: Mapping[str, Any]) -> bool:
    """Say whether a message would call people."""
    texts = [str(asked.get("text", ""))]
    texts += [one["text"] for one in asked.get("blocks", []) if one["type"] == "markdown"]
    return any(_CALL.search(_CODE.sub("", text)) for text in texts)


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


class Budget:
    """So many calls within so many seconds; `refused` counts those beyond."""

    def __init__(self, most: int, seconds: float) -> None:
        self.refused = 0
        self._most, self._seconds = most, seconds
        self._spent: deque[float] = deque()

    def spend(self) -> int:
        """Count a call; return after how many seconds it may come again, 0: it may be now."""
        now = time.monotonic()
        while self._spent and now - self._spent[0] >= self._seconds:
            self._spent.popleft()
        if len(self._spent) >= self._most:
            self.refused += 1
            return math.ceil(self._spent[0] + self._seconds - now)
        self._spent.append(now)
        return 0
