"""Where a long transcript is cut: what stays to the letter, and what a summary stands for.

The rules are the seed's (Habakkuk, Compaction): as many of the latest turns stay as fit in a fifth
of the limit, and always the open one. A cut falls before a user's message that begins a turn or
before an assistant's message, so that no call loses its result. Only when the open turn alone is
over that budget is it cut inside; then its request stays beside what is kept of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from habakkuk.conversations.types import StoredMessage
from habakkuk.llm.types import Message, Role, ToolResult

_SHORTEST_RESULT = 1_000
Size = Callable[[Message], int]


@dataclass(frozen=True)
class Plan:
    """A cut. `folded` is what the summary is to stand for, `kept` what stays, oldest first.

    `request` is the open turn's first message where it is folded away from what is kept of the
    turn: it stays too. `result_limit` in characters is how long a tool's result in `kept` may be,
    None when all may stay whole.
    """

    folded: Sequence[StoredMessage]
    kept: Sequence[StoredMessage]
    request: StoredMessage | None = None
    result_limit: int | None = None

    @property
    def shortens(self) -> bool:
        """Whether it takes anything away."""
        return bool(self.folded) or self.result_limit is not None

    @property
    def shown(self) -> list[Message]:
        """What is kept, as it is sent."""
        return [with_short_results(item.message, self.result_limit) for item in self.kept]


def begins_turn(message: Message) -> bool:
    """Whether a user speaks here, which begins a turn."""
    return message.role is Role.USER and not any(
        isinstance(block, ToolResult) for block in message.blocks
    )


def plan(stored: Sequence[StoredMessage], budget: int, size: Size) -> Plan:
    """Return the cut of a transcript that keeps at most `budget` tokens, if it can."""
    # ends[i] is what the messages from i on take together.
    sizes = [size(item.message) for item in stored]
    ends = list(accumulate(reversed(sizes)))[::-1]
    starts = [n for n, item in enumerate(stored) if begins_turn(item.message)]
    opening = starts[-1] if starts else 0
    if ends[opening] > budget:
        return _inside(stored, opening, budget, ends, size)
    first = next((n for n in starts if ends[n] <= budget), opening)
    return Plan(stored[:first], stored[first:])


def last_turn(stored: Sequence[StoredMessage], size: Size) -> int:
    """Return what the open turn takes."""
    starts = [n for n, item in enumerate(stored) if begins_turn(item.message)]
    return sum(size(item.message) for item in stored[starts[-1] if starts else 0 :])


def _inside(
    stored: Sequence[StoredMessage], opening: int, budget: int, ends: Sequence[int], size: Size
) -> Plan:
    """Cut the open turn itself, before one of its assistant's messages."""
    places = [
        n for n in range(opening + 1, len(stored)) if stored[n].message.role is Role.ASSISTANT
    ]
    if not places:
        # A request alone: nothing of it can go.
        return Plan(stored[:opening], stored[opening:])
    first = next((n for n in places if ends[n] <= budget), places[-1])
    folded = [*stored[:opening], *stored[opening + 1 : first]]
    kept = stored[first:]
    limit = _result_limit([item.message for item in kept], budget, size)
    return Plan(folded, kept, stored[opening], limit)


def _result_limit(messages: Sequence[Message], budget: int, size: Size) -> int | None:
    """Return the longest results that let messages fit, at least 1,000 characters; None: all do."""
    limit: int | None = None
    while sum(size(with_short_results(m, limit)) for m in messages) > budget:
        longest = max((len(r.text) for m in messages for r in _results(m)), default=0)
        limit = min(limit or longest, longest) // 2
        if limit <= _SHORTEST_RESULT:
            return _SHORTEST_RESULT if longest > _SHORTEST_RESULT else None
    return limit


def with_short_results(message: Message, limit: int | None) -> Message:
    """Return the message with its tool results cut to `limit` characters; the middle goes."""
    if limit is None or all(len(result.text) <= limit for result in _results(message)):
        return message
    blocks = [
        replace_text(block, limit) if isinstance(block, ToolResult) else block
        for block in message.blocks
    ]
    return replace(message, blocks=tuple(blocks))


def replace_text(result: ToolResult, limit: int) -> ToolResult:
    """Return a result of at most `limit` characters, and a note of what is left out."""
    return result.model_copy(update={"text": shortened(result.text, limit)})


def shortened(text: str, limit: int) -> str:
    """Return a text, or the two ends of one over `limit` characters and how much is gone."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out …]\n{text[-tail:]}"


def _results(message: Message) -> list[ToolResult]:
    return [block for block in message.blocks if isinstance(block, ToolResult)]
