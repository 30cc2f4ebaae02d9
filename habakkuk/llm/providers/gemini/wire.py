"""The shapes of generateContent answers."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from habakkuk.llm.types import Usage
from habakkuk.llm.wire.shapes import Count, Lenient, Objects, Shape


class _Shape(Shape):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Counts(_Shape):
    """Tokens as the format counts them: thoughts and what tools read stand apart."""

    prompt_token_count: Count = None
    tool_use_prompt_token_count: Count = None
    candidates_token_count: Count = None
    thoughts_token_count: Count = None
    cached_content_token_count: Count = None

    def usage(self) -> Usage:
        """Return the neutral form."""
        thoughts = self.thoughts_token_count or 0
        return Usage(
            input=(self.prompt_token_count or 0) + (self.tool_use_prompt_token_count or 0),
            output=(self.candidates_token_count or 0) + thoughts,
            cache_read=self.cached_content_token_count or 0,
            reasoning=thoughts,
        )


class FunctionCall(_Shape):
    """A whole call; services of this format send none in pieces."""

    id: Lenient[str] = None
    name: Lenient[str] = None
    args: Any = None


class Part(_Shape):
    """A piece of an answer: a text, a thought when it says so, or a call."""

    text: Lenient[str] = None
    thought: Lenient[bool] = None
    thought_signature: Lenient[str] = None
    function_call: Lenient[FunctionCall] = None


class Content(_Shape):
    """What a chunk adds. `parts` are raw, since some go back as they came."""

    parts: Objects[dict[str, Any]] = Field(default_factory=list)


class Candidate(_Shape):
    """One of the answers; only the first is ever asked for.

    `grounding_metadata` tells what was searched for and found; where nothing was it may be empty.
    """

    index: Lenient[int] = None
    content: Lenient[Content] = None
    finish_reason: Lenient[str] = None
    finish_message: Lenient[str] = None
    grounding_metadata: Lenient[dict[str, Any]] = None


class Chunk(_Shape):
    """One event of a stream, or a whole answer."""

    candidates: Objects[Candidate] = Field(default_factory=list)
    usage_metadata: Lenient[Counts] = None

    @property
    def candidate(self) -> Candidate | None:
        """The first answer, None in chunks that carry something else."""
        return next((found for found in self.candidates if not found.index), None)


class PromptFeedback(_Shape):
    """Why a prompt was not answered."""

    block_reason: Lenient[str] = None
    block_reason_message: Lenient[str] = None
