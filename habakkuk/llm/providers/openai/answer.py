"""One answer, put together chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from habakkuk.core.text import clean
from habakkuk.llm.providers.openai.wire import Chunk, Delta, WiredCall
from habakkuk.llm.types import (
    Block,
    LlmEvent,
    ModelRef,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCallStarted,
    Usage,
)
from habakkuk.llm.wire.calls import CallBuilder
from habakkuk.llm.wire.ending import Ending
from habakkuk.llm.wire.text import TextJoin


class Answer:
    """The state of one streamed answer."""

    def __init__(self, model: ModelRef, taken: Iterable[str]) -> None:
        """`taken`: the call ids that the session has."""
        self._model = model
        self._text = TextJoin()
        self._thinking = TextJoin()
        self._calls = CallBuilder(taken)
        self._refused = False
        self.finish: str | None = None
        self.usage: Usage | None = None
        self.started = False

    def add(self, chunk: Chunk) -> Iterator[LlmEvent]:
        """Take a chunk and yield what it shows."""
        if chunk.counted:
            self.usage = chunk.counted.usage()
        choice = chunk.choice
        if choice is None:
            return
        self.started = True
        delta = choice.delta or choice.message
        if delta is not None:
            yield from self._delta(delta)
        self.finish = choice.finish_reason or self.finish

    def _delta(self, delta: Delta) -> Iterator[LlmEvent]:
        if thought := self._thinking.add(delta.thinking):
            yield ThinkingDelta(thought)
        self._refused = self._refused or bool(delta.refusal)
        if shown := self._text.add(delta.text + (delta.refusal or "")):
            yield TextDelta(shown)
        pieces = list(delta.tool_calls)
        if delta.function_call is not None:
            pieces.append(WiredCall(index=0, function=delta.function_call))
        for piece in pieces:
            name = self._calls.add(piece.piece)
            if name is not None:
                yield ToolCallStarted(index=len(self._calls) - 1, name=clean(name))

    def end(self) -> Iterator[LlmEvent]:
        """Yield the last events: what makes a silent refusal visible, and Finished."""
        ending = Ending(self.finish, self._refused, len(self._calls))
        if ending.stop is StopReason.REFUSAL and not self._text.text.strip():
            yield TextDelta(self._text.add(ending.refusal()))
        blocks = (*self._spoken(), *self._calls.build(ending.fault))
        yield ending.finished(self._model, blocks, self.usage)

    def _spoken(self) -> Iterator[Block]:
        if self._thinking.text.strip():
            yield Thinking(text=self._thinking.text, provider=self._model.provider)
        if self._text.text.strip():
            yield Text(text=self._text.text)
