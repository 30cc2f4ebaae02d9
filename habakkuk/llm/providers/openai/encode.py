"""Our transcript as the body of a Chat Completions request.

Plain dicts, handed to the SDK as `extra_body`: its typed transform of `messages` costs 66 ms of
CPU at 400 messages, this under one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import orjson

from habakkuk.core.text import clean
from habakkuk.llm.contract import Dialect, Profile
from habakkuk.llm.types import (
    LlmRequest,
    Media,
    Message,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)

# What services accept as a function's name; a model that made up another would block its session.
_BAD_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64


def request_body(request: LlmRequest, profile: Profile, dialect: Dialect) -> dict[str, Any]:
    """Return the body without the model and `stream`, which the SDK's own arguments carry."""
    body: dict[str, Any] = {"messages": list(_messages(request, profile, dialect))}
    if request.tools and profile.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    limits = [n for n in (request.max_tokens, profile.max_tokens) if n is not None]
    if limits:
        body[dialect.max_tokens_field or profile.max_tokens_field] = min(limits)
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    if request.effort:
        body["reasoning_effort"] = request.effort
    if dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if dialect.cache_key and request.cache_key:
        body["prompt_cache_key"] = request.cache_key
    return body


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _messages(request: LlmRequest, profile: Profile, dialect: Dialect) -> Iterator[dict[str, Any]]:
    system = profile.simple_prompt if profile.simple_prompt is not None else request.system
    if system.strip():
        yield {"role": "system", "content": clean(system)}
    names: dict[str, str] = {}
    for message in request.messages:
        if message.role is Role.ASSISTANT:
            names |= {call.id: call.name for call in message.calls}
            yield from _assistant(message, profile, dialect)
        else:
            yield from _user(message, names if not profile.tools else None, dialect)


def _assistant(message: Message, profile: Profile, dialect: Dialect) -> Iterator[dict[str, Any]]:
    text = clean(message.text)
    calls = message.calls
    if calls and not profile.tools:
        text = "\n".join([text, *(f"(called {call.name})" for call in calls)]).strip()
        calls = ()
    if not text.strip() and not calls:
        # A message of thinking alone says nothing to this format, and empty ones are refused.
        return
    wired: dict[str, Any] = {"role": "assistant", "content": text if text.strip() else None}
    if calls:
        wired["tool_calls"] = [_call(call, dialect) for call in calls]
    yield wired


def _call(call: ToolCall, dialect: Dialect) -> dict[str, Any]:
    name = _BAD_NAME.sub("_", call.name)[:_LONGEST_NAME] or "unnamed"
    arguments = orjson.dumps(call.input).decode()
    function = {"name": name, "arguments": arguments}
    return {"id": _id(call.id, dialect), "type": "function", "function": function}


def _user(
    message: Message, names: dict[str, str] | None, dialect: Dialect
) -> Iterator[dict[str, Any]]:
    """Yield tool results and then the text; `names` is given where results must become text."""
    texts = list[str]()
    for block in message.blocks:
        if isinstance(block, ToolResult) and names is None:
            content = clean(block.text)
            yield {"role": "tool", "tool_call_id": _id(block.call_id, dialect), "content": content}
        elif isinstance(block, ToolResult):
            called = (names or {}).get(block.call_id, "a tool")
            texts.append(f"(result of {called}) {clean(block.text)}")
        elif isinstance(block, Text):
            texts.append(clean(block.text))
        elif isinstance(block, Media):
            texts.append(clean(f"(attached file: {block.name or 'unnamed'}, {block.mime})"))
    text = "\n".join(texts)
    if text.strip():
        yield {"role": "user", "content": text}


def _id(call_id: str, dialect: Dialect) -> str:
    """Return the id as the service takes it: the same for a call and its result."""
    length = dialect.call_id_length
    if length is None or (len(call_id) == length and call_id.isalnum() and call_id.isascii()):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:length]
