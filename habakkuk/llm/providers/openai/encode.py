"""Our transcript as the body of a Chat Completions request.

Plain dicts, written by us: the SDK's typed transform of `messages` costs 66 ms of CPU at 400
messages, this under one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import orjson

from habakkuk.core.text import clean
from habakkuk.llm.contract import Dialect, Profile
from habakkuk.llm.profiles.efforts import fitting_effort
from habakkuk.llm.types import (
    LlmRequest,
    Message,
    Payload,
    Role,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from habakkuk.llm.wire.files import File, spoken_parts
from habakkuk.llm.wire.outgoing import fitted, formed, hashed_id, plain_id, tool_name

# What OpenAI takes at most as a call's id.
_LONGEST_ID = 40
# "Function tools with reasoning_effort are not supported for … in /v1/chat/completions. To use
# function tools, use /v1/responses or set reasoning_effort to 'none'."
_UNTHINKING = "none"


def request_body(request: LlmRequest, profile: Profile, dialect: Dialect) -> dict[str, Any]:
    """Return the body without the model and `stream`."""
    request = fitted(request, profile)
    body: dict[str, Any] = {"messages": list(_messages(request, dialect))}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    limits = [n for n in (request.max_tokens, profile.max_tokens) if n is not None]
    if limits:
        body[dialect.max_tokens_field or profile.max_tokens_field] = min(limits)
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    if effort := _effort(request, profile, dialect):
        body["reasoning_effort"] = effort
    if dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if dialect.cache_key and request.cache_key:
        body["prompt_cache_key"] = request.cache_key
    return body


def _effort(request: LlmRequest, profile: Profile, dialect: Dialect) -> str | None:
    if dialect.own_rules and profile.chat_tools_unthinking and request.tools:
        # Without a word of effort these models think, and refuse functions.
        return _UNTHINKING
    return fitting_effort(request.effort, profile)


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _messages(request: LlmRequest, dialect: Dialect) -> Iterator[dict[str, Any]]:
    if request.system.strip():
        yield {"role": "system", "content": request.system}
    key = f"chat {dialect}"
    make = partial(_message, payloads=request.payloads, dialect=dialect)
    for message in request.messages:
        yield from formed(message, key, make)


def _message(
    message: Message, payloads: Mapping[str, Payload], dialect: Dialect
) -> Iterator[dict[str, Any]]:
    if message.role is Role.ASSISTANT:
        return _assistant(message, dialect)
    return _user(message, payloads, dialect)


def _assistant(message: Message, dialect: Dialect) -> Iterator[dict[str, Any]]:
    text = clean(message.text)
    calls = message.calls
    if not text.strip() and not calls:
        # A message of thinking alone says nothing to this format, and empty ones are refused.
        return
    wired: dict[str, Any] = {"role": "assistant", "content": text if text.strip() else None}
    if calls:
        wired["tool_calls"] = [_call(call, dialect) for call in calls]
    yield wired


def _call(call: ToolCall, dialect: Dialect) -> dict[str, Any]:
    arguments = orjson.dumps(call.input, option=orjson.OPT_SORT_KEYS).decode()
    function = {"name": tool_name(call.name), "arguments": arguments}
    return {"id": _id(call.id, dialect), "type": "function", "function": function}


def _user(
    message: Message, payloads: Mapping[str, Payload], dialect: Dialect
) -> Iterator[dict[str, Any]]:
    """Yield tool results and then what was said."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            content = clean(block.text)
            yield {"role": "tool", "tool_call_id": _id(block.call_id, dialect), "content": content}
    parts = list(spoken_parts(message.blocks, payloads))
    if len(parts) == 1 and isinstance(parts[0], str):
        # Many services know no other form.
        yield {"role": "user", "content": parts[0]}
    elif parts:
        yield {"role": "user", "content": [_part(part) for part in parts]}


def _part(part: str | File) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.is_image:
        return {"type": "image_url", "image_url": {"url": part.uri}}
    return {"type": "file", "file": {"filename": part.name, "file_data": part.uri}}


def _id(call_id: str, dialect: Dialect) -> str:
    """Return the id as the service takes it: the same for a call and its result."""
    length = dialect.call_id_length
    if length is None:
        return call_id if len(call_id) <= _LONGEST_ID else plain_id(call_id, _LONGEST_ID)
    if len(call_id) == length and call_id.isalnum() and call_id.isascii():
        return call_id
    return hashed_id(call_id, length)
