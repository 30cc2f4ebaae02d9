"""What every wire format does with a transcript before it writes it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from habakkuk.core.text import clean
from habakkuk.llm.contract import Profile
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Media,
    Message,
    ModelRef,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

# What services accept as a function's name; a model that made up another would block its session.
_BAD_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_PLAIN_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ID_LENGTH = 24
# What an Opaque block holds that is no item of its own but belongs to the text before it.
_BESIDE = "beside_text"


def fitted(request: LlmRequest, profile: Profile) -> LlmRequest:
    """Return the request as the model can take it: its prompt, no tools or notes it cannot use."""
    system = profile.simple_prompt if profile.simple_prompt is not None else request.system
    messages = request.messages if profile.notes else tuple(map(_without_notes, request.messages))
    if profile.tools:
        return replace(request, system=clean(system), messages=messages)
    return replace(request, system=clean(system), messages=tuple(_told(messages)), tools=())


def _without_notes(message: Message) -> Message:
    kept = (block for block in message.blocks if not (isinstance(block, Text) and block.note))
    return replace(message, blocks=tuple(kept))


def _told(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages in which calls and results are told as text."""
    names: dict[str, str] = {}
    for message in messages:
        if message.role is Role.ASSISTANT:
            names |= {call.id: call.name for call in message.calls}
            lines = [message.text, *(f"(called {call.name})" for call in message.calls)]
        else:
            lines = [_line(block, names) for block in message.blocks]
        text = "\n".join(line for line in lines if line).strip()
        yield Message(message.role, (Text(text=text),) if text else ())


def _line(block: Block, names: dict[str, str]) -> str:
    if isinstance(block, ToolResult):
        return f"(result of {names.get(block.call_id, 'a tool')}) {block.text}"
    return spoken(block)


def spoken(block: Block) -> str:
    """Return a text, or the note that stands for a file; empty for what is neither."""
    if isinstance(block, Text):
        return clean(block.text)
    if isinstance(block, Media):
        return clean(f"(attached file: {block.name or 'unnamed'}, {block.mime})")
    return ""


def formed(
    message: Message, key: str, make: Callable[[Message], Iterable[dict[str, Any]]]
) -> Sequence[dict[str, Any]]:
    """Return what a format makes of a message: kept with it, so nobody may change it.

    `key` is all that it depends on beside the message. With a file that is what fits into this
    request, too, so that such a message is made anew each time.
    """
    known: Sequence[dict[str, Any]] | None = message.forms.get(key)
    if known is None:
        known = list(make(message))
        if not message.has_files:
            message.forms[key] = known
    return known


def tool_name(name: str) -> str:
    """Return a called tool's name as services accept it."""
    return _BAD_NAME.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def hashed_id(call_id: str, length: int) -> str:
    """Return an id of `length` letters and digits: the same for a call and its result."""
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def plain_id(call_id: str, longest: int) -> str:
    """Return an id of letters, digits, - and _: as it is when it is one, else made from it."""
    if len(call_id) <= longest and _PLAIN_ID.fullmatch(call_id):
        return call_id
    return f"call_{hashed_id(call_id, _ID_LENGTH)}"


def made_by(block: Thinking | Opaque | ToolCall, model: ModelRef) -> bool:
    """Whether `model` made a private block or signature: nobody else can use it."""
    return block.provider == model.provider and block.model in (None, model.model)


def beside_text(model: ModelRef, **fields: str) -> Opaque:
    """Return a block that keeps what a service wants back together with the text before it."""
    return Opaque(provider=model.provider, model=model.model, data={_BESIDE: fields})


def fields_beside(block: Opaque) -> dict[str, Any] | None:
    """Return what `beside_text` kept, None for a block that is an item of its own."""
    found: dict[str, Any] | None = block.data.get(_BESIDE)
    return found


def call_ids(request: LlmRequest) -> Iterator[str]:
    """Yield the ids of the calls in the transcript."""
    for message in request.messages:
        yield from (call.id for call in message.calls)
