"""The shapes of Responses answers."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from habakkuk.llm.types import Usage
from habakkuk.llm.wire.shapes import Count, Lenient, Objects, Shape


class CountDetails(Shape):
    """Parts of a count."""

    cached_tokens: Count = None
    cache_write_tokens: Count = None
    reasoning_tokens: Count = None


class Counts(Shape):
    """Tokens as the format counts them: `input_tokens` includes the cached ones."""

    input_tokens: Count = None
    output_tokens: Count = None
    input_tokens_details: Lenient[CountDetails] = None
    output_tokens_details: Lenient[CountDetails] = None

    def usage(self) -> Usage:
        """Return the neutral form."""
        read = self.input_tokens_details or CountDetails()
        written = self.output_tokens_details or CountDetails()
        return Usage(
            input=self.input_tokens or 0,
            output=self.output_tokens or 0,
            cache_read=read.cached_tokens or 0,
            cache_write=read.cache_write_tokens or 0,
            reasoning=written.reasoning_tokens or 0,
        )


class ContentPart(Shape):
    """A text, a refusal, or a piece of reasoning."""

    type: Lenient[str] = None
    text: Lenient[str] = None
    refusal: Lenient[str] = None


class Item(Shape):
    """What an answer is made of; which fields count, `type` tells."""

    type: Lenient[str] = None
    call_id: Lenient[str] = None
    name: Lenient[str] = None
    arguments: Any = None
    content: Objects[ContentPart] = Field(default_factory=list)
    summary: Objects[ContentPart] = Field(default_factory=list)
    phase: Lenient[str] = None


class IncompleteDetails(Shape):
    """Why an answer is not whole."""

    reason: Lenient[str] = None


class Response(Shape):
    """An answer as it stands. `output` is raw, since some items go back as they came."""

    status: Lenient[str] = None
    output: Objects[dict[str, Any]] = Field(default_factory=list)
    usage: Lenient[Counts] = None
    incomplete_details: Lenient[IncompleteDetails] = None

    @property
    def finish(self) -> str | None:
        """The reason to stop, None while it goes on."""
        if self.status == "incomplete":
            details = self.incomplete_details or IncompleteDetails()
            return details.reason or self.status
        return self.status if self.status == "completed" else None


class StreamEvent(Response):
    """One event of a stream; also a whole answer, which some services send in its place.

    `delta` is a piece of a text or of a call's arguments, as `type` tells.
    """

    type: Lenient[str] = None
    object: Lenient[str] = None
    output_index: Lenient[int] = None
    summary_index: Lenient[int] = None
    delta: Lenient[str] = None
    item: Lenient[dict[str, Any]] = None
    response: Lenient[Response] = None
