"""One answer, put together event by event, its blocks in the order in which they began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import orjson

from habakkuk.core.errors import Invalid
from habakkuk.core.text import clean, clean_json
from habakkuk.llm.providers.anthropic.wire import (
    ContentBlock,
    Counts,
    Delta,
    Message,
    StopDetails,
    StreamEvent,
)
from habakkuk.llm.types import (
    Block,
    LlmEvent,
    ModelRef,
    Opaque,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolCallStarted,
    Usage,
)
from habakkuk.llm.wire.calls import CallBuilder, CallPiece
from habakkuk.llm.wire.ending import Ending
from habakkuk.llm.wire.text import TextJoin, gap

_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_KNOWN = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


@dataclass
class _Part:
    """One block on its way; `kind` is the format's word for it."""

    kind: str
    join: TextJoin = field(default_factory=TextJoin)
    signature: str = ""
    raw: dict[str, Any] = field(default_factory=dict)
    arguments: str = ""
    after_search: bool = False

    @property
    def gave(self) -> bool:
        """Whether a hosted block is what a call of the service gave, and not the call."""
        return self.raw.get("type") != "server_tool_use"


class Answer:
    """The state of one streamed answer."""

    def __init__(self, model: ModelRef, taken: Iterable[str]) -> None:
        """`taken`: the call ids that the session has."""
        self._model = model
        self._parts: list[_Part] = []
        self._open: dict[int, _Part] = {}
        self._calls = CallBuilder(taken)
        self._counts: dict[str, int] = {}
        self._opening = 0
        self._unknown: list[str] = []
        self._explanation = ""
        self.finish: str | None = None
        self.started = False

    @property
    def usage(self) -> Usage | None:
        """What was counted so far, None when nothing was said."""
        if not self._counts:
            return None
        told = self._counts.get
        return Usage(
            input=self._read,
            output=told("output_tokens", 0),
            cache_read=told("cache_read_input_tokens", 0),
            cache_write=told("cache_creation_input_tokens", 0),
            reasoning=told("thinking_tokens", 0),
            searches=told("web_search_requests", 0),
            window=self._window,
        )

    @property
    def _read(self) -> int:
        """What was read in all passes so far."""
        return sum(self._counts.get(name, 0) for name in _INPUT)

    @property
    def _window(self) -> int | None:
        """How long the conversation is with this answer; None where no pass followed the first.

        The first pass is counted by itself. Each of the others read at least as much, so that what
        is more than that was read by the last: its length, or a little more.
        """
        passes = self._later_passes
        if not passes:
            return None
        if not self._opening:
            return 0
        last = max(self._opening, self._read - passes * self._opening)
        return last + self._counts.get("output_tokens", 0)

    @property
    def _later_passes(self) -> int:
        """After how many searches, or groups of them, the model read on."""
        gave = [part.kind == "hosted" and part.gave for part in self._parts]
        return sum(now and not before for before, now in pairwise([False, *gave]))

    def add(self, piece: StreamEvent) -> Iterator[LlmEvent]:
        """Take an event and yield what it shows."""
        self._count(piece.usage)
        if piece.message is not None:
            self.started = True
            yield from self._whole(piece.message)
            self._opening = self._opening or self._read
        if piece.type == "message" or piece.content:
            yield from self._whole(piece)
        index = piece.index if piece.index is not None else len(self._open)
        for block in piece.content_block:
            yield from self._begin(index, block)
        if piece.delta is not None:
            yield from self._delta(index, piece.delta)

    def _whole(self, message: Message) -> Iterator[LlmEvent]:
        self._count(message.usage)
        for index, block in enumerate(message.content):
            yield from self._begin(index, block)
        self._end_with(message.stop_reason, message.stop_details)

    def _begin(self, index: int, raw: dict[str, Any]) -> Iterator[LlmEvent]:
        """Take a block as it begins, with what it already holds."""
        self.started = True
        block = ContentBlock.model_validate(raw)
        kind = block.type or ""
        if block.is_hosted:
            self._part(index, "hosted").raw = raw
            return
        if kind not in _KNOWN:
            self._unknown.append(clean(kind))
            return
        if kind == "tool_use":
            yield from self._call(CallPiece(index, block.id, block.name, block.input or None))
            return
        part = self._part(index, kind)
        part.raw = raw
        yield from self._grow(part, Delta.model_validate(block.model_dump(exclude={"type"})))

    def _part(self, index: int, kind: str) -> _Part:
        part = _Part(kind)
        part.after_search = bool(self._parts) and self._parts[-1].kind == "hosted"
        self._open[index] = part
        self._parts.append(part)
        return part

    def _call(self, piece: CallPiece) -> Iterator[LlmEvent]:
        name = self._calls.add(piece)
        if name is not None:
            self._parts.append(_Part("tool_use"))
            yield ToolCallStarted(index=len(self._calls) - 1, name=clean(name))

    def _delta(self, index: int, delta: Delta) -> Iterator[LlmEvent]:
        self._end_with(delta.stop_reason, delta.stop_details)
        opened = self._open.get(index)
        if delta.partial_json is not None and opened is not None and opened.kind == "hosted":
            opened.arguments += delta.partial_json
            return
        if delta.partial_json is not None:
            yield from self._call(CallPiece(index, arguments=delta.partial_json))
            return
        said = delta.text is not None
        if not said and delta.thinking is None and delta.signature is None:
            return
        part = opened or self._part(index, "text" if said else "thinking")
        yield from self._grow(part, delta)

    def _grow(self, part: _Part, delta: Delta) -> Iterator[LlmEvent]:
        part.signature += delta.signature or ""
        if part.kind == "text" and (shown := part.join.add(self._apart(part, delta.text or ""))):
            yield TextDelta(shown)
        if part.kind == "thinking" and (thought := part.join.add(delta.thinking or "")):
            yield ThinkingDelta(thought)

    def _apart(self, part: _Part, text: str) -> str:
        """Return the first piece of a text that follows a search as a paragraph of its own."""
        if not part.after_search or not text:
            return text
        part.after_search = False
        return gap(self._said, text) + text

    def _end_with(self, reason: str | None, details: StopDetails | None) -> None:
        self.finish = reason or self.finish
        if details is not None and details.explanation:
            self._explanation = details.explanation

    def _count(self, counts: Counts | None) -> None:
        """Keep the latest of each count: they grow, and some come only at the beginning."""
        if counts is None:
            return
        found = counts.model_dump(exclude_none=True)
        for inside in ("output_tokens_details", "server_tool_use"):
            found |= found.pop(inside, {})
        self._counts |= found

    def end(self) -> Iterator[LlmEvent]:
        """Yield the last events: what makes a silent refusal visible, and Finished."""
        ending = Ending(self.finish, refused=False, calls=len(self._calls))
        if ending.stop is StopReason.REFUSAL and not self._said.strip():
            part = self._part(-1, "text")
            yield TextDelta(part.join.add(ending.refusal(self._explanation)))
        blocks = tuple(self._blocks(self._calls.build(ending.fault)))
        strange = (f"{self._model} sent a block of an unknown kind: {k!r}" for k in self._unknown)
        yield ending.finished(self._model, blocks, self.usage, *strange)

    @property
    def _said(self) -> str:
        """What was said so far."""
        return "".join(part.join.text for part in self._parts if part.kind == "text")

    def _blocks(self, calls: tuple[ToolCall, ...]) -> Iterator[Block]:
        begun = iter(calls)
        for part in self._parts:
            if part.kind == "tool_use":
                yield next(begun)
            elif part.kind == "thinking":
                yield from self._thinking(part)
            elif part.kind == "redacted_thinking":
                yield from self._opaque(part.raw, self._model.model)
            elif part.kind == "hosted":
                yield from self._opaque(_called(part), None)
            elif part.join.text.strip():
                yield Text(text=part.join.text)

    def _opaque(self, data: dict[str, Any], model: str | None) -> Iterator[Block]:
        """Yield a block that goes back as it came, to `model` where it is bound to one."""
        try:
            kept = clean_json(data)
        except Invalid:
            self._unknown.append(clean(str(data.get("type"))))
            return
        yield Opaque(provider=self._model.provider, data=kept, model=model)

    def _thinking(self, part: _Part) -> Iterator[Block]:
        """Yield a thinking block; without its signature when it cannot be stored to the letter."""
        whole = part.join.untouched and clean(part.signature) == part.signature
        signed = bool(part.signature) and whole
        if signed or part.join.text.strip():
            yield Thinking(
                text=part.join.text,
                signature=part.signature if signed else None,
                provider=self._model.provider,
                model=self._model.model,
            )


def _called(part: _Part) -> dict[str, Any]:
    """Return a hosted block with the input that came in pieces."""
    if not part.arguments:
        return part.raw
    try:
        return part.raw | {"input": orjson.loads(part.arguments)}
    except ValueError:
        # Cut in the middle: nothing came of the call.
        return part.raw
