"""The shapes of Messages answers."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from habakkuk.llm.wire.shapes import Count, Lenient, Objects, Shape


class CountDetails(Shape):
    """Parts of a count."""

    thinking_tokens: Count = None


class ServerToolUse(Shape):
    """How often the service used its own tools; pages that it fetched cost only their tokens."""

    web_search_requests: Count = None


class Counts(Shape):
    """Tokens as the format counts them: `input_tokens` leaves the cached ones out.

    They are those of all passes so far: where the service searches, it reads everything once more.
    """

    input_tokens: Count = None
    output_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_read_input_tokens: Count = None
    output_tokens_details: Lenient[CountDetails] = None
    server_tool_use: Lenient[ServerToolUse] = None


class StopDetails(Shape):
    """What a refusal says of itself."""

    explanation: Lenient[str] = None


class ContentBlock(Shape):
    """A block as it begins, or whole; which fields count, `type` tells."""

    type: Lenient[str] = None
    text: Lenient[str] = None
    thinking: Lenient[str] = None
    signature: Lenient[str] = None
    data: Lenient[str] = None
    id: Lenient[str] = None
    name: Lenient[str] = None
    input: Any = None

    @property
    def is_hosted(self) -> bool:
        """Whether it is a call that the service makes itself, or what that gave."""
        kind = self.type or ""
        return kind == "server_tool_use" or kind.endswith("_tool_result")


class Delta(Shape):
    """A piece of a block, or the end of a message."""

    text: Lenient[str] = None
    thinking: Lenient[str] = None
    signature: Lenient[str] = None
    partial_json: Lenient[str] = None
    stop_reason: Lenient[str] = None
    stop_details: Lenient[StopDetails] = None


class Message(Shape):
    """A message as it begins, or whole. Blocks are raw, since some go back as they came."""

    content: Objects[dict[str, Any]] = Field(default_factory=list)
    stop_reason: Lenient[str] = None
    stop_details: Lenient[StopDetails] = None
    usage: Lenient[Counts] = None


class StreamEvent(Message):
    """One event of a stream; also a whole message, which some gateways send in its place."""

    type: Lenient[str] = None
    index: Lenient[int] = None
    message: Lenient[Message] = None
    content_block: Objects[dict[str, Any]] = Field(default_factory=list)
    delta: Lenient[Delta] = None
