"""The shapes of Chat Completions answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from habakkuk.llm.types import Usage
from habakkuk.llm.wire.calls import CallPiece
from habakkuk.llm.wire.shapes import Count, Lenient, Objects, Shape


class FunctionPiece(Shape):
    """A piece of a call: the name once or in each, the arguments in pieces or as an object."""

    name: Lenient[str] = None
    arguments: Any = None


class WiredCall(Shape):
    """A piece of one tool call; which one, `index` tells, where it is there."""

    index: Lenient[int] = None
    id: Lenient[str] = None
    function: Lenient[FunctionPiece] = None

    @property
    def piece(self) -> CallPiece:
        """The neutral form."""
        function = self.function or FunctionPiece()
        return CallPiece(self.index, self.id, function.name, function.arguments)


class Delta(Shape):
    """What a chunk adds; also the message of a whole answer, which has the same fields."""

    content: Any = None
    refusal: Lenient[str] = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Objects[WiredCall] = Field(default_factory=list)
    function_call: Lenient[FunctionPiece] = None

    @property
    def text(self) -> str:
        """The text in `content`, a string or parts."""
        return "".join(text for kind, text in _parts(self.content) if kind == "text")

    @property
    def thinking(self) -> str:
        """The reasoning, under any of its names."""
        inside = "".join(text for kind, text in _parts(self.content) if kind == "thinking")
        named = "".join(text for _, text in _parts(self.reasoning_content or self.reasoning))
        return inside or named


class CountDetails(Shape):
    """Parts of a count."""

    cached_tokens: Count = None
    cache_write_tokens: Count = None
    reasoning_tokens: Count = None


class Counts(Shape):
    """Tokens as the format counts them: `prompt_tokens` includes the cached ones."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_cache_hit_tokens: Count = None
    prompt_tokens_details: Lenient[CountDetails] = None
    completion_tokens_details: Lenient[CountDetails] = None

    def usage(self) -> Usage:
        """Return the neutral form."""
        read = self.prompt_tokens_details or CountDetails()
        written = self.completion_tokens_details or CountDetails()
        return Usage(
            input=self.prompt_tokens or 0,
            output=self.completion_tokens or 0,
            cache_read=read.cached_tokens or self.prompt_cache_hit_tokens or 0,
            cache_write=read.cache_write_tokens or 0,
            reasoning=written.reasoning_tokens or 0,
        )


class Choice(Shape):
    """One of the answers; only the first is ever asked for."""

    index: Lenient[int] = None
    delta: Lenient[Delta] = None
    message: Lenient[Delta] = None
    finish_reason: Lenient[str] = None
    usage: Lenient[Counts] = None


class Chunk(Shape):
    """One event of a stream, or a whole answer."""

    choices: Objects[Choice] = Field(default_factory=list)
    usage: Lenient[Counts] = None

    @property
    def choice(self) -> Choice | None:
        """The first choice, None in chunks that carry something else."""
        return next((choice for choice in self.choices if not choice.index), None)

    @property
    def counted(self) -> Counts | None:
        """The usage, wherever it stands."""
        return self.usage or next((c.usage for c in self.choices if c.usage), None)


def _parts(content: Any) -> Iterator[tuple[str, str]]:
    """Yield (text or thinking, piece) of a content that is a string, a part or parts."""
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list):
        for part in content:
            yield from _parts(part)
    elif isinstance(content, dict):
        kind = "thinking" if content.get("type") in ("thinking", "reasoning") else "text"
        inside = content.get("text") or content.get("thinking") or content.get("content")
        yield from ((kind, piece) for _, piece in _parts(inside))
