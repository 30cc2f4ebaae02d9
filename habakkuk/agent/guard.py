"""Notice a turn that goes in circles: equal calls with equal results, equal failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from habakkuk.llm.types import Message, Role, ToolCall, ToolResult

# A model that gets the same answer three times is told so; one that goes on is stopped.
WARN_AT = 3
STOP_AT = 6
FAILURES_WARN_AT = 4
FAILURES_STOP_AT = 8
_NOTE = "\n\n[habakkuk: "


@dataclass(frozen=True)
class Circle:
    """What repeats, how often, and whether that is enough to stop."""

    text: str
    stop: bool


def circle(messages: Sequence[Message]) -> Circle | None:
    """Return what a turn's messages repeat, None when it gets on.

    Looks at the pairs of call and result since the turn's user message: the same call with the
    same result counts wherever it stands, failures of one tool only in an unbroken row.
    """
    pairs = list(_pairs(messages))
    if not pairs:
        return None
    last_call, last_result = pairs[-1]
    equal = Counter(_same(call, result) for call, result in pairs)[_same(last_call, last_result)]
    if equal >= WARN_AT:
        what = f"{last_call.name} was called {equal} times with the same arguments and result"
        return Circle(what, equal >= STOP_AT)
    failures = _failures_in_a_row(pairs)
    if failures >= FAILURES_WARN_AT:
        what = f"{last_call.name} failed {failures} times in a row"
        return Circle(what, failures >= FAILURES_STOP_AT)
    return None


def noted(result: ToolResult, found: Circle) -> ToolResult:
    """Return a result with a note about the circle, which `circle` does not count as a change."""
    note = f"{_NOTE}{found.text}; do something else, or answer with what you have]"
    return result.model_copy(update={"text": result.text + note})


def _pairs(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, ToolResult]]:
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if message.role is Role.ASSISTANT:
            calls.update({call.id: call for call in message.calls})
            continue
        for block in message.blocks:
            if isinstance(block, ToolResult) and block.call_id in calls:
                yield calls[block.call_id], block


def _same(call: ToolCall, result: ToolResult) -> bytes:
    arguments = orjson.dumps(call.input, option=orjson.OPT_SORT_KEYS)
    text = result.text.partition(_NOTE)[0]
    return b"\0".join((call.name.encode(), arguments, text.encode("utf-8", "replace")))


def _failures_in_a_row(pairs: Sequence[tuple[ToolCall, ToolResult]]) -> int:
    name = pairs[-1][0].name
    count = 0
    for call, result in reversed(pairs):
        if call.name != name or not result.is_error:
            break
        count += 1
    return count
