"""The shapes of Chat Completions answers, read as leniently as services write them.

A field of the wrong type counts as absent: one odd value of one service must not lose an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from habakkuk.llm.types import Usage

T = TypeVar("T")


def _or_none(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


def _dicts(value: Any) -> Any:
    """Keep the objects of a list, and take one that stands alone as a list of one."""
    if isinstance(value, dict):
        return [value]
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


Lenient = Annotated[T | None, WrapValidator(_or_none)]
Objects = Annotated[list[T], BeforeValidator(_dicts)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)


class FunctionPiece(_Shape):
    """A piece of a call: the name once or in each, the arguments in pieces or as an object."""

    name: Lenient[str] = None
    arguments: Any = None


class CallPiece(_Shape):
    """A piece of one tool call; which one, `index` tells, where it is there."""

    index: Lenient[int] = None
    id: Lenient[str] = None
    function: Lenient[FunctionPiece] = None


class Delta(_Shape):
    """What a chunk adds; also the message of a whole answer, which has the same fields."""

    content: Any = None
    refusal: Lenient[str] = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Objects[CallPiece] = []
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


class CountDetails(_Shape):
    """Parts of a count."""

    cached_tokens: Lenient[Annotated[int, Field(ge=0)]] = None
    cache_write_tokens: Lenient[Annotated[int, Field(ge=0)]] = None
    reasoning_tokens: Lenient[Annotated[int, Field(ge=0)]] = None


class Counts(_Shape):
    """Tokens as the format counts them: `prompt_tokens` includes the cached ones."""

    prompt_tokens: Lenient[Annotated[int, Field(ge=0)]] = None
    completion_tokens: Lenient[Annotated[int, Field(ge=0)]] = None
    prompt_cache_hit_tokens: Lenient[Annotated[int, Field(ge=0)]] = None
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


class Choice(_Shape):
    """One of the answers; only the first is ever asked for."""

    index: Lenient[int] = None
    delta: Lenient[Delta] = None
    message: Lenient[Delta] = None
    finish_reason: Lenient[str] = None
    usage: Lenient[Counts] = None


class Chunk(_Shape):
    """One event of a stream, or a whole answer."""

    choices: Objects[Choice] = []
    usage: Lenient[Counts] = None
    error: Any = None

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
