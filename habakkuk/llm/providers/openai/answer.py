"""One answer, put together chunk by chunk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from habakkuk.core.text import clean
from habakkuk.llm.providers.openai.calls import CallBuilder
from habakkuk.llm.providers.openai.wire import CallPiece, Chunk, Delta
from habakkuk.llm.types import (
    Block,
    Finished,
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

# Compared without case and separators, since services write tool_calls, tool-calls and toolUse.
_STOPS = {
    "stop": StopReason.END,
    "endturn": StopReason.END,
    "eos": StopReason.END,
    "stopsequence": StopReason.END,
    "completed": StopReason.END,
    "toolcalls": StopReason.TOOL_USE,
    "toolcall": StopReason.TOOL_USE,
    "tooluse": StopReason.TOOL_USE,
    "functioncall": StopReason.TOOL_USE,
    "length": StopReason.LENGTH,
    "maxtokens": StopReason.LENGTH,
    "maxoutputtokens": StopReason.LENGTH,
    "contentfilter": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
    "safety": StopReason.REFUSAL,
}
_SEPARATORS = re.compile(r"[^a-z]")
_HIGH = re.compile("[\ud800-\udbff]\\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Calls of an answer that did not end as it should are never run.
_FAULTS = {
    StopReason.LENGTH: "the answer reached its length limit before the call was complete;"
    " ask again with less",
    StopReason.REFUSAL: "the provider stopped the answer at this call",
}


class TextJoin:
    """Joins pieces of text, also where a piece ends inside a surrogate pair."""

    def __init__(self) -> None:
        """Start empty."""
        self._held = ""
        self.pieces: list[str] = []

    def add(self, piece: str) -> str:
        """Return what can be shown: `piece` clean, without a half character at its end."""
        piece = _paired(self._held + piece)
        self._held = piece[-1:] if _HIGH.search(piece) else ""
        shown = clean(piece[:-1] if self._held else piece)
        self.pieces.append(shown)
        return shown

    @property
    def text(self) -> str:
        """Everything so far; a half character that never became whole is replaced."""
        return "".join(self.pieces) + clean(self._held)


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
            pieces.append(CallPiece(index=0, function=delta.function_call))
        for piece in pieces:
            name = self._calls.add(piece)
            if name is not None:
                yield ToolCallStarted(index=len(self._calls) - 1, name=clean(name))

    def end(self) -> Iterator[LlmEvent]:
        """Yield the last events: what makes a silent refusal visible, and Finished."""
        stop = self._stop()
        if stop is StopReason.REFUSAL and not self._text.text.strip():
            word = f" ({self.finish})" if self.finish else ""
            yield TextDelta(self._text.add(f"The model's provider declined to answer{word}."))
        calls = self._calls.build(_FAULTS.get(stop))
        blocks = (*self._spoken(), *calls)
        yield Finished(
            blocks=blocks,
            stop=stop,
            usage=self.usage or Usage(),
            model=self._model,
            raw_stop=clean(self.finish) if self.finish else None,
            notices=tuple(self._notices(stop, blocks)),
        )

    def _spoken(self) -> Iterator[Block]:
        if self._thinking.text.strip():
            yield Thinking(text=self._thinking.text, provider=self._model.provider)
        if self._text.text.strip():
            yield Text(text=self._text.text)

    def _stop(self) -> StopReason:
        """Trust the content before the reason: calls or no calls decide what to do next."""
        named = _STOPS.get(_SEPARATORS.sub("", (self.finish or "stop").lower()), StopReason.UNKNOWN)
        if self._refused:
            return StopReason.REFUSAL
        if named in (StopReason.LENGTH, StopReason.REFUSAL):
            return named
        if len(self._calls):
            return StopReason.TOOL_USE
        return StopReason.END if named is StopReason.TOOL_USE else named

    def _notices(self, stop: StopReason, blocks: tuple[Block, ...]) -> Iterator[str]:
        known = _SEPARATORS.sub("", (self.finish or "stop").lower()) in _STOPS
        if not known:
            yield f"{self._model} ended with an unknown reason: {clean(self.finish or '')!r}"
        if stop is StopReason.LENGTH:
            yield f"{self._model} reached its length limit; the answer is not complete"
        if not any(not isinstance(block, Thinking) for block in blocks):
            yield f"{self._model} answered with nothing"


def _paired(text: str) -> str:
    """Return `text` with surrogate pairs made one character."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
