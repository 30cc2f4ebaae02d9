"""The neutral form of a conversation with a model. Adapters translate it; the transcript stores it.

A message is a role and blocks. Blocks are frozen pydantic models, told apart by `type`, so that
what is stored as JSON is checked when it is read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Text(_Block):
    """Plain text. `partial`: the provider or a stop cut it.

    `note` is set on what nobody said: Habakkuk put it there, such as the time of a message.
    """

    type: Literal["text"] = "text"
    text: str
    partial: bool = False
    note: Literal[True] | None = None


class Thinking(_Block):
    """Reasoning of a model. Signed blocks go back byte for byte, and only to who made them.

    That is `provider`, and `model` there where it is set. A signed text may be empty.
    """

    type: Literal["thinking"] = "thinking"
    text: str
    signature: str | None = None
    provider: str | None = None
    model: str | None = None


class ToolCall(_Block):
    """A call that the model asks for. `id` is unique in the session and never empty.

    `fault` is set when the arguments could not be used (cut, no JSON): it is never run, its input
    is {} and the fault becomes its error result. A `signature` goes back with the call, and only to
    who made it: `provider` and `model`, which stand there only with one.
    """

    type: Literal["tool_call"] = "tool_call"
    id: str = Field(min_length=1)
    name: str
    input: dict[str, Any]
    fault: str | None = None
    signature: str | None = None
    provider: str | None = None
    model: str | None = None


class ToolResult(_Block):
    """What a call gave. `text` is what the model reads."""

    type: Literal["tool_result"] = "tool_result"
    call_id: str = Field(min_length=1)
    text: str
    is_error: bool = False


class Media(_Block):
    """A file by blob reference; adapters load the bytes when they send it."""

    type: Literal["media"] = "media"
    blob: str
    mime: str
    name: str | None = None


class Opaque(_Block):
    """A block of one provider, replayed verbatim to it only, and to `model` where it is set."""

    type: Literal["opaque"] = "opaque"
    provider: str
    data: dict[str, Any]
    model: str | None = None


Block = Annotated[
    Text | Thinking | ToolCall | ToolResult | Media | Opaque, Field(discriminator="type")
]
BLOCKS: TypeAdapter[tuple[Block, ...]] = TypeAdapter(tuple[Block, ...])


class Role(StrEnum):
    """Who speaks. Tool results stand in user messages, as one message for one step's calls."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True)
class Message:
    """One message of a transcript."""

    role: Role
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @cached_property
    def size(self) -> int:
        """Return the bytes of its words and its calls' input, without files; kept with it."""
        return sum(map(_size, self.blocks))

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    @cached_property
    def has_files(self) -> bool:
        """Whether any of its blocks is a file; kept with it."""
        return Media in map(type, self.blocks)

    @cached_property
    def forms(self) -> dict[Any, Any]:
        """What others made of it, by a key of theirs: each call sends a long session again."""
        return {}


def _size(block: Block) -> int:
    if isinstance(block, Media):
        return 0
    if isinstance(block, ToolCall):
        return len(block.name.encode("utf-8", "replace")) + len(orjson.dumps(block.input))
    if isinstance(block, Opaque):
        return len(orjson.dumps(block.data))
    return len(block.text.encode("utf-8", "replace"))


def blocks_to_json(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Return blocks as JSON values, without what is unset."""
    return [block.model_dump(mode="json", exclude_none=True) for block in blocks]


def blocks_from_json(value: object) -> tuple[Block, ...]:
    """Return the blocks of stored JSON; raises pydantic.ValidationError when it is none."""
    return BLOCKS.validate_python(value)


def blocks_from_text(text: str) -> tuple[Block, ...]:
    """Return the blocks of stored JSON text; raises pydantic.ValidationError when it is none."""
    # Not `validate_json`: PostgreSQL writes 1e30 as a whole number, which would be read as one that
    # our JSON writer does not take.
    return BLOCKS.validate_python(orjson.loads(text))


# How hard a model thinks, least first; each provider and model takes some of them.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class StopReason(StrEnum):
    """Why a model stopped. UNKNOWN: a value that nobody documented; the text counts."""

    END = "end"
    TOOL_USE = "tool_use"
    LENGTH = "length"
    REFUSAL = "refusal"
    PAUSE = "pause"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. `input` counts everything that was read, cached tokens included.

    `searches` is how often the provider searched for it, which costs by itself. `window` is how
    long the conversation is with the answer, where that is not input and output: a provider that
    searches reads the same again with each pass. It is 0 where the counts do not tell.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    searches: int = 0
    window: int | None = None


@dataclass(frozen=True)
class ModelRef:
    """`provider/model` as the config writes it; the model part may hold slashes."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> ModelRef:
        """Split at the first slash. Raises ValueError without one."""
        provider, slash, model = text.partition("/")
        if not (provider and slash and model):
            raise ValueError(f"{text!r} is not provider/model")
        return cls(provider, model)

    def __str__(self) -> str:
        """Return `provider/model`."""
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True)
class ToolSpec:
    """What a model is told of a tool; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Payload:
    """A file as it is sent to a model: its type and bytes, within what the provider takes."""

    mime: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class LlmRequest:
    """One call, without the model: the router adds that, attempt by attempt.

    `payloads` holds the files of Media blocks by their blob; a Media without one is told as a note.
    `effort` is one of EFFORTS; `web` wants the provider's own search and fetch where the model has
    them. `labels` says who asks: turn, session, agent, user, and `purpose` where it is no answer.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    effort: str | None = None
    web: bool = False
    cache_key: str | None = None
    payloads: Mapping[str, Payload] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True)
class ThinkingDelta:
    """A piece of the reasoning."""

    text: str


@dataclass(frozen=True)
class ToolCallStarted:
    """The model began a call. Only for showing; what runs is what Finished holds."""

    index: int
    name: str


@dataclass(frozen=True)
class Finished:
    """The end of a call: the whole message. Always the last event, and always there.

    `notices` is what its user should know besides; `failed` names the models that were asked before
    this one, why each failed, and who answered.
    """

    blocks: tuple[Block, ...]
    stop: StopReason
    usage: Usage
    model: ModelRef
    raw_stop: str | None = None
    notices: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


LlmEvent = TextDelta | ThinkingDelta | ToolCallStarted | Finished
