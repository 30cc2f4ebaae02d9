"""One answer, put together chunk by chunk, its parts in the order in which they came.

A signed part stays a part of its own, so that it goes back exactly as it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from habakkuk.core.errors import Invalid
from habakkuk.core.text import clean, clean_json
from habakkuk.llm.providers.gemini.wire import Chunk, Counts, FunctionCall, Part
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

# Searches and pages that were read there; they go back as they came.
_HOSTED = ("toolCall", "toolResponse", "executableCode", "codeExecutionResult")


@dataclass
class _Part:
    """One part of the answer; `kind` is text, thought, call or hosted."""

    kind: str
    join: TextJoin = field(default_factory=TextJoin)
    signature: str | None = None
    raw: dict[str, Any] = field(default_factory=dict)


class Answer:
    """The state of one streamed answer."""

    def __init__(self, model: ModelRef, taken: Iterable[str]) -> None:
        """`taken`: the call ids that the session has."""
        self._model = model
        self._parts: list[_Part] = []
        self._calls = CallBuilder(taken)
        self._lost: list[str] = []
        self._explanation = ""
        self.finish: str | None = None
        self._counted: Counts | None = None
        self._grounded = False
        self.started = False

    @property
    def usage(self) -> Usage | None:
        """What was counted so far, None when nothing was said."""
        if self._counted is None:
            return None
        kept = [part.raw for part in self._parts if part.kind == "hosted"]
        searches = sum("toolCall" in raw for raw in kept) or int(self._grounded)
        usage = replace(self._counted.usage(), searches=searches)
        found = self._counted.tool_use_prompt_token_count
        if kept or not found:
            return usage
        # What its tools read is not kept here, and so is no part of the next request.
        return replace(usage, window=usage.input - found + usage.output)

    def add(self, chunk: Chunk) -> Iterator[LlmEvent]:
        """Take a chunk and yield what it shows."""
        if chunk.usage_metadata is not None:
            self._counted = chunk.usage_metadata
        candidate = chunk.candidate
        if candidate is None:
            return
        self.started = True
        for raw in candidate.content.parts if candidate.content else ():
            yield from self._take(Part.model_validate(raw), raw)
        self._grounded = self._grounded or bool(candidate.grounding_metadata)
        self._explanation = candidate.finish_message or self._explanation
        self.finish = candidate.finish_reason or self.finish

    def _take(self, part: Part, raw: dict[str, Any]) -> Iterator[LlmEvent]:
        signature = _whole(part.thought_signature)
        if part.function_call is not None:
            self._parts.append(_Part("call", signature=signature))
            yield from self._call(part.function_call)
        elif part.text is not None and part.thought:
            yield from self._grow(self._open("thought", signature), part.text)
        elif part.text is not None:
            yield from self._say(part.text, signature)
        elif any(name in raw for name in _HOSTED):
            self._parts.append(_Part("hosted", raw=raw))
        elif signature:
            # A signature alone, as it stands at the end of some answers.
            self._open("text", signature)
        else:
            self._lost.append(clean(" ".join(raw)))

    def _say(self, text: str, signature: str | None) -> Iterator[LlmEvent]:
        """Take a text; one that follows a search begins a paragraph."""
        if self._parts and self._parts[-1].kind == "hosted" and text:
            text = gap(self._said, text) + text
        yield from self._grow(self._open("text", signature), text)

    def _open(self, kind: str, signature: str | None) -> _Part:
        """Return the part that a piece of text belongs to."""
        last = self._parts[-1] if self._parts else None
        if last is None or last.kind != kind or last.signature or signature:
            last = _Part(kind, signature=signature)
            self._parts.append(last)
        return last

    def _grow(self, part: _Part, text: str) -> Iterator[LlmEvent]:
        shown = part.join.add(text)
        if shown and part.kind == "text":
            yield TextDelta(shown)
        elif shown:
            yield ThinkingDelta(shown)

    def _call(self, call: FunctionCall) -> Iterator[LlmEvent]:
        name = self._calls.add(CallPiece(len(self._calls), call.id, call.name, call.args))
        yield ToolCallStarted(index=len(self._calls) - 1, name=clean(name or ""))

    def end(self) -> Iterator[LlmEvent]:
        """Yield the last events: what makes a silent refusal visible, and Finished."""
        ending = Ending(self.finish, refused=False, calls=len(self._calls))
        if ending.stop is StopReason.REFUSAL and not self._said.strip():
            yield from self._say(ending.refusal(self._explanation), None)
        blocks = tuple(self._blocks(self._calls.build(ending.fault)))
        lost = (f"{self._model} sent what cannot be kept: {kind!r}" for kind in self._lost)
        yield ending.finished(self._model, blocks, self.usage, *lost)

    @property
    def _said(self) -> str:
        """What was said so far."""
        return "".join(part.join.text for part in self._parts if part.kind == "text")

    def _blocks(self, calls: tuple[ToolCall, ...]) -> Iterator[Block]:
        begun = iter(calls)
        for part in self._parts:
            if part.kind == "call":
                yield self._signed(next(begun), part.signature)
            elif part.kind == "text":
                yield from self._text(part)
            elif part.kind == "thought":
                yield from self._thought(part)
            else:
                yield from self._hosted(part)

    def _signed(self, call: ToolCall, signature: str | None) -> ToolCall:
        if signature is None:
            return call
        made = {"provider": self._model.provider, "model": self._model.model}
        return call.model_copy(update={"signature": signature, **made})

    def _text(self, part: _Part) -> Iterator[Block]:
        """Yield a text, and its signature; blank ones that are signed only go back."""
        text, signed = part.join.text, part.signature
        if text.strip():
            yield Text(text=text)
            if signed:
                yield beside_text(self._model, thoughtSignature=signed)
        elif signed:
            yield self._opaque({"text": text, "thoughtSignature": signed})

    def _thought(self, part: _Part) -> Iterator[Block]:
        text, made = part.join.text, self._model
        if part.signature and part.join.untouched:
            yield Thinking(
                text=text, signature=part.signature, provider=made.provider, model=made.model
            )
        elif text.strip():
            yield Thinking(text=text, provider=made.provider)

    def _hosted(self, part: _Part) -> Iterator[Block]:
        try:
            yield self._opaque(clean_json(part.raw))
        except Invalid:
            self._lost.append(clean(" ".join(part.raw)))

    def _opaque(self, data: dict[str, Any]) -> Opaque:
        return Opaque(provider=self._model.provider, model=self._model.model, data=data)


def _whole(signature: str | None) -> str | None:
    """Return a signature that can be stored to the letter."""
    return signature if signature and clean(signature) == signature else None
