"""One answer, put together event by event, its items in the order in which they began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from habakkuk.core.errors import Invalid
from habakkuk.core.text import clean, clean_json
from habakkuk.llm.providers.responses.wire import ContentPart, Item, Response, StreamEvent
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
from habakkuk.llm.wire.outgoing import beside_text
from habakkuk.llm.wire.text import TextJoin, gap

_TEXT = "response.output_text.delta"
_REFUSAL = "response.refusal.delta"
_THOUGHT = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ARGUMENTS = "response.function_call_arguments.delta"
_SEARCH = "web_search_call"
_ADDED = "response.output_item.added"
_DONE = "response.output_item.done"


@dataclass
class _Part:
    """One item on its way. `raw` is the whole of it, for those that go back as they came."""

    kind: str
    join: TextJoin = field(default_factory=TextJoin)
    section: int = 0
    pieces: int = 0
    phase: str | None = None
    raw: dict[str, Any] | None = None
    done: bool = False


class Answer:
    """The state of one streamed answer."""

    def __init__(self, model: ModelRef, taken: Iterable[str]) -> None:
        """`taken`: the call ids that the session has."""
        self._model = model
        self._parts: dict[int, _Part] = {}
        self._calls = CallBuilder(taken)
        self._lost: list[str] = []
        self._refused = False
        self.finish: str | None = None
        self._counted: Usage | None = None
        self.started = False

    @property
    def usage(self) -> Usage | None:
        """What was counted, None when nothing was said.

        After a search it holds what all passes read, results among it that are not sent again: how
        long the conversation is does not follow. Pages that were opened cost nothing by themselves.
        """
        found = [part.raw or {} for part in self._parts.values() if part.kind == _SEARCH]
        if self._counted is None or not found:
            return self._counted
        actions = [raw.get("action") for raw in found]
        searches = sum(not isinstance(a, dict) or a.get("type") == "search" for a in actions)
        return replace(self._counted, searches=searches, window=0)

    def add(self, piece: StreamEvent) -> Iterator[LlmEvent]:
        """Take an event and yield what it shows."""
        if piece.delta is not None:
            yield from self._delta(piece, piece.delta)
        elif piece.item is not None:
            index = piece.output_index if piece.output_index is not None else len(self._parts)
            yield from self._item(index, piece.item, done=piece.type == _DONE)
        elif piece.response is not None:
            yield from self._whole(piece.response)
        elif piece.object == "response":
            yield from self._whole(piece)

    def _delta(self, piece: StreamEvent, text: str) -> Iterator[LlmEvent]:
        index = piece.output_index or 0
        if piece.type in (_TEXT, _REFUSAL):
            self._refused = self._refused or piece.type == _REFUSAL
            yield from self._say(self._part(index, "message"), text)
        elif piece.type in _THOUGHT:
            yield from self._think(self._part(index, "reasoning"), text, piece.summary_index or 0)
        elif piece.type == _ARGUMENTS:
            part = self._part(index, "function_call")
            part.pieces += 1
            yield from self._call(CallPiece(index, arguments=text))

    def _part(self, index: int, kind: str) -> _Part:
        self.started = True
        part = self._parts.get(index)
        if part is None:
            part = self._parts[index] = _Part(kind)
        return part

    def _say(self, part: _Part, text: str) -> Iterator[LlmEvent]:
        part.pieces += 1
        if not part.join.pieces:
            text = gap(self._said, text) + text
        if shown := part.join.add(text):
            yield TextDelta(shown)

    def _think(self, part: _Part, text: str, section: int) -> Iterator[LlmEvent]:
        part.pieces += 1
        if section != part.section and part.join.text:
            text = f"\n\n{text}"
        part.section = section
        if shown := part.join.add(text):
            yield ThinkingDelta(shown)

    def _call(self, piece: CallPiece) -> Iterator[LlmEvent]:
        name = self._calls.add(piece)
        if name is not None:
            yield ToolCallStarted(index=len(self._calls) - 1, name=clean(name))

    def _item(self, index: int, raw: dict[str, Any], *, done: bool) -> Iterator[LlmEvent]:
        """Take an item as it begins or as it ended; then it is whole."""
        item = Item.model_validate(raw)
        kind = item.type or ""
        part = self._part(index, kind)
        if kind == "function_call":
            # Its arguments are whole at the end; until then they may stand here in part.
            given = item.arguments if done and not part.pieces else None
            if not part.done:
                yield from self._call(CallPiece(index, item.call_id, item.name, given))
        if done and not part.done:
            yield from self._end_item(part, item, raw)

    def _end_item(self, part: _Part, item: Item, raw: dict[str, Any]) -> Iterator[LlmEvent]:
        part.done, part.raw = True, raw
        part.phase = item.phase
        if part.pieces:
            return
        if part.kind == "message":
            for content in item.content:
                yield from self._content(part, content)
        elif part.kind == "reasoning":
            for section, content in enumerate(item.summary or item.content):
                yield from self._think(part, content.text or "", section)

    def _content(self, part: _Part, content: ContentPart) -> Iterator[LlmEvent]:
        self._refused = self._refused or content.refusal is not None
        yield from self._say(part, content.text or content.refusal or "")

    def _whole(self, response: Response) -> Iterator[LlmEvent]:
        """Take the answer as it stands; at the end it is complete."""
        if response.usage is not None:
            self._counted = response.usage.usage()
        if response.finish is None:
            return
        self.started = True
        for index, raw in enumerate(response.output):
            yield from self._item(index, raw, done=True)
        self.finish = response.finish

    def end(self) -> Iterator[LlmEvent]:
        """Yield the last events: what makes a silent refusal visible, and Finished."""
        ending = Ending(self.finish, self._refused, len(self._calls))
        if ending.stop is StopReason.REFUSAL and not self._said.strip():
            part = self._part(len(self._parts), "message")
            yield TextDelta(part.join.add(ending.refusal()))
        blocks = tuple(self._blocks(self._calls.build(ending.fault)))
        lost = (f"{self._model} sent what cannot be kept: {kind!r}" for kind in self._lost)
        yield ending.finished(self._model, blocks, self.usage, *lost)

    @property
    def _said(self) -> str:
        """What was said so far."""
        return "".join(p.join.text for p in self._parts.values() if p.kind == "message")

    def _blocks(self, calls: tuple[ToolCall, ...]) -> Iterator[Block]:
        begun = iter(calls)
        for part in self._parts.values():
            if part.kind == "function_call":
                yield next(begun)
            elif part.kind == "message":
                yield from self._text(part)
            else:
                yield from self._private(part)

    def _text(self, part: _Part) -> Iterator[Block]:
        if part.join.text.strip():
            yield Text(text=part.join.text)
            if part.phase:
                yield beside_text(self._model, phase=clean(part.phase))

    def _private(self, part: _Part) -> Iterator[Block]:
        """Yield reasoning as people read it, and the item itself as it goes back.

        Reasoning without its encrypted content is at the service only, where it was not stored.
        """
        if part.kind == "reasoning":
            if part.join.text.strip():
                yield Thinking(text=part.join.text, provider=self._model.provider)
            if not (part.raw or {}).get("encrypted_content"):
                return
        if part.raw is None:
            return
        try:
            data = clean_json(part.raw)
        except Invalid:
            data = None
        if data == part.raw:
            yield Opaque(provider=self._model.provider, model=self._model.model, data=part.raw)
        else:
            # Changed, it would be refused; without it the rest of the answer still holds.
            self._lost.append(clean(part.kind))
