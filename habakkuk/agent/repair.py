"""Make a transcript valid before it is sent: the smallest broken part goes, never the history.

Valid is what every provider accepts: no empty message, roles alternate, each call of an assistant
message has exactly one result in the message right after it, and no result stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from habakkuk.llm.types import Block, Message, Role, Text, ToolCall, ToolResult

INTERRUPTED = (
    "interrupted: the server stopped while this call ran; it may or may not have taken effect. "
    "Check before doing it again."
)


def repair(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the nearest valid transcript. Applied to a valid one it changes nothing."""
    return tuple(_close_pairs(_merge(_nonempty(messages))))


def _nonempty(messages: Iterable[Message]) -> list[Message]:
    kept = []
    for message in messages:
        blocks = tuple(b for b in message.blocks if not (isinstance(b, Text) and not b.text))
        if blocks:
            kept.append(Message(message.role, blocks))
    return kept


def _merge(messages: Iterable[Message]) -> list[Message]:
    """Join neighbours of one role; an assistant message with calls ends before its results."""
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role is message.role and not merged[-1].calls:
            merged[-1] = Message(message.role, merged[-1].blocks + message.blocks)
        else:
            merged.append(message)
    return merged


def _close_pairs(messages: Sequence[Message]) -> list[Message]:
    closed: list[Message] = []
    open_calls: tuple[ToolCall, ...] = ()
    for message in messages:
        if message.role is Role.ASSISTANT:
            if open_calls:
                closed.append(Message(Role.USER, _results(open_calls, ())))
            closed.append(message)
            open_calls = message.calls
            continue
        others = tuple(b for b in message.blocks if not isinstance(b, ToolResult))
        blocks = _results(open_calls, message.blocks) + others
        if blocks:
            closed.append(Message(Role.USER, blocks))
        open_calls = ()
    if open_calls:
        closed.append(Message(Role.USER, _results(open_calls, ())))
    return closed


def _results(calls: Sequence[ToolCall], blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return one result for each call, in the order of the calls, and none besides."""
    found = {b.call_id: b for b in reversed(blocks) if isinstance(b, ToolResult)}
    return tuple(
        found.get(call.id) or ToolResult(call_id=call.id, text=INTERRUPTED, is_error=True)
        for call in calls
    )
