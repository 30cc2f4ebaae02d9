"""Notice a turn that goes in circles: equal calls with equal results, equal failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import orjson

from habakkuk.llm.types import Message, Role, ToolCall, ToolResult

# A model that gets the same answer three times is told so; one that goes on is stopped.
WARN_AT = 3
STOP_AT = 6
FAILURES_WARN_AT = 4
FAILURES_STOP_AT = 8
_NOTE = "\n\n[habakkuk: "
_Pair = tuple[ToolCall, ToolResult]


@dataclass(frozen=True)
class Circle:
    """What repeats, how often, and whether that is enough to stop."""

    text: str
    stop: bool


def circle(messages: Sequence[Message]) -> Circle | None:
    """Return what a turn's messages repeat, None when it gets on.

    Counts steps since the turn's user message, since a model sees the results of one step together:
    the same call with the same result counts wherever it stands, failures of one tool only in an
    unbroken row.
    """
    steps = list(_steps(messages))
    if not steps:
        return None
    last_call, last_result = steps[-1][-1]
    same = _same(last_call, last_result)
    equal = sum(1 for step in steps if any(_same(*pair) == same for pair in step))
    if equal >= WARN_AT:
        what = f"{last_call.name} was called {equal} times with the same arguments and result"
        return Circle(what, equal >= STOP_AT)
    failures = _failures_in_a_row(steps)
    if failures >= FAILURES_WARN_AT:
        what = f"{last_call.name} failed {failures} times in a row"
        return Circle(what, failures >= FAILURES_STOP_AT)
    return None


def noted(result: ToolResult, found: Circle) -> ToolResult:
    """Return a result with a note about the circle, which `circle` does not count as a change."""
    note = f"{_NOTE}{found.text}; do something else, or answer with what you have]"
    return result.model_copy(update={"text": result.text + note})


def _steps(messages: Sequence[Message]) -> Iterator[list[_Pair]]:
    """Yield each step's calls with their results, in order."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if message.role is Role.ASSISTANT:
            calls = {call.id: call for call in message.calls}
            continue
        step = [
            (calls[block.call_id], block)
            for block in message.blocks
            if isinstance(block, ToolResult) and block.call_id in calls
        ]
        if step:
            yield step


def _same(call: ToolCall, result: ToolResult) -> bytes:
    arguments = orjson.dumps(call.input, option=orjson.OPT_SORT_KEYS)
    text = result.text.partition(_NOTE)[0]
    return b"\0".join((call.name.encode(), arguments, text.encode("utf-8", "replace")))


def _failures_in_a_row(steps: Sequence[list[_Pair]]) -> int:
    """Count the last steps in which one tool was called and never worked."""
    name = steps[-1][-1][0].name
    failing = (all(c.name == name and r.is_error for c, r in step) for step in reversed(steps))
    return sum(1 for _ in takewhile(bool, failing))
