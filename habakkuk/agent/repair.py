"""Make a transcript valid before it is sent: the smallest broken part goes, never the history.

Valid is what every provider accepts: no empty message, roles alternate, each call of an assistant
message has exactly one result in the message right after it, no result stands elsewhere, and no
call has the id of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import NamedTuple

from habakkuk.llm.types import Block, Message, Role, Text, Thinking, ToolCall, ToolResult

INTERRUPTED = (
    "interrupted: the server stopped while this call ran; it may or may not have taken effect. "
    "Check before doing it again."
)


def repair(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the nearest valid transcript. Applied to a valid one it changes nothing."""
    if _is_valid(messages):
        # Nearly always, and some ten times as fast to see as to make anew.
        return tuple(messages)
    closed = _close_pairs(_merge(_nonempty(messages)))
    # A message that held only results of nobody is gone: its neighbours have one role.
    return tuple(_rename(_merge(closed)))


class _Shape(NamedTuple):
    """What a message must fit to: `sound` says that it is valid by itself."""

    sound: bool
    results: tuple[str, ...]
    calls: tuple[str, ...]


# Most messages: words alone, for which nothing more is to be looked at.
_PLAIN = _Shape(sound=True, results=(), calls=())


def _is_valid(messages: Iterable[Message]) -> bool:
    """Whether every provider accepts the transcript as it is."""
    taken: set[str] = set()
    role: Role | None = None
    calls: tuple[str, ...] = ()
    for message in messages:
        shape = message.forms.get(_Shape) or _shape(message)
        if message.role is role:
            return False
        role = message.role
        if shape is _PLAIN and not calls:
            continue
        if not shape.sound or shape.results != calls:
            return False
        calls = shape.calls
        if calls:
            if not taken.isdisjoint(calls):
                return False
            taken.update(calls)
    return not calls


def _shape(message: Message) -> _Shape:
    """Return a message's shape; kept with it, for the next time that its session is sent."""
    blocks = message.blocks
    results = tuple(b.call_id for b in blocks if isinstance(b, ToolResult))
    calls = tuple(call.id for call in message.calls)
    sound = (
        bool(blocks)
        and all(_belongs(block, message.role) for block in blocks)
        and all(isinstance(block, ToolResult) for block in blocks[: len(results)])
        and len(set(calls)) == len(calls)
    )
    shape = _Shape(sound, results, calls)
    found = message.forms[_Shape] = _PLAIN if shape == _PLAIN else shape
    return found


def _nonempty(messages: Iterable[Message]) -> list[Message]:
    kept = []
    for message in messages:
        blocks = tuple(block for block in message.blocks if _belongs(block, message.role))
        if blocks:
            kept.append(Message(message.role, blocks))
    return kept


def _belongs(block: Block, role: Role) -> bool:
    """Whether a block says something and may stand in a message of this role."""
    if isinstance(block, Text):
        return bool(block.text.strip())
    if isinstance(block, ToolResult):
        return role is Role.USER
    return role is Role.ASSISTANT or not isinstance(block, ToolCall | Thinking)


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
    found: dict[str, list[ToolResult]] = defaultdict(list)
    for block in reversed(blocks):
        if isinstance(block, ToolResult):
            found[block.call_id].append(block)
    return tuple(
        found[call.id].pop()
        if found[call.id]
        else ToolResult(call_id=call.id, text=INTERRUPTED, is_error=True)
        for call in calls
    )


def _rename(messages: Sequence[Message]) -> list[Message]:
    """Give a call whose id was used before another one, and its result with it."""
    taken: set[str] = set()
    renamed: list[Message] = []
    fresh: list[str] = []
    for message in messages:
        if message.role is Role.ASSISTANT:
            fresh = [_untaken(call.id, taken) for call in message.calls]
        names = iter(fresh)
        renamed.append(Message(message.role, tuple(_named(b, names) for b in message.blocks)))
    return renamed


def _untaken(call_id: str, taken: set[str]) -> str:
    """Return the id, or the first of its numbered forms that is not taken, and take it."""
    fresh = next(
        name for name in chain([call_id], (f"{call_id}_{n}" for n in count(2))) if name not in taken
    )
    taken.add(fresh)
    return fresh


def _named(block: Block, names: Iterator[str]) -> Block:
    """Return a call or a result under the next name; they stand in the same order."""
    if isinstance(block, ToolCall):
        name = next(names)
        return block if block.id == name else block.model_copy(update={"id": name})
    if isinstance(block, ToolResult):
        name = next(names)
        return block if block.call_id == name else block.model_copy(update={"call_id": name})
    return block
