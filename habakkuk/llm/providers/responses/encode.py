"""Our transcript as the body of a Responses request.

Nothing is kept at the service (`store` is false), so that everything it needs goes along each time,
its encrypted reasoning too. Only who made such an item can read it; others never get it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import orjson

from habakkuk.core.text import clean
from habakkuk.llm.contract import Dialect, Profile
from habakkuk.llm.profiles.efforts import fitting_effort
from habakkuk.llm.types import (
    LlmRequest,
    Message,
    ModelRef,
    Opaque,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from habakkuk.llm.wire.files import File, spoken_parts
from habakkuk.llm.wire.outgoing import (
    fields_beside,
    fitted,
    formed,
    made_by,
    plain_id,
    tool_name,
)

# What OpenAI takes at most as a call's id.
_LONGEST_ID = 64
# The effort at which OpenAI refuses a request with its search; at "none" it takes it.
_NO_SEARCH_AT = "minimal"
# Searches and pages read in one answer, all of them together.
_MOST_SEARCHES = 10


def request_body(
    request: LlmRequest, profile: Profile, dialect: Dialect, model: ModelRef, *, summaries: bool
) -> dict[str, Any]:
    """Return the body without `model` and `stream`. `summaries`: of the reasoning, to be shown."""
    request = fitted(request, profile)
    body: dict[str, Any] = {"store": False, "input": list(_input(request, model))}
    if request.system.strip():
        body["instructions"] = request.system
    effort = fitting_effort(request.effort, profile)
    tools = [_tool(spec) for spec in request.tools]
    if request.web and profile.hosted_web and effort != _NO_SEARCH_AT:
        tools.insert(0, {"type": "web_search"})
        if dialect.own_rules:
            body["max_tool_calls"] = _MOST_SEARCHES
    if tools:
        body["tools"] = tools
    limits = [n for n in (request.max_tokens, profile.max_tokens) if n is not None]
    if limits:
        body["max_output_tokens"] = min(limits)
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    if dialect.cache_key and request.cache_key:
        body["prompt_cache_key"] = request.cache_key
    return body | _reasoning(effort, profile, summaries=summaries)


def _reasoning(effort: str | None, profile: Profile, *, summaries: bool) -> dict[str, Any]:
    """Return what is asked of models that reason; the others refuse every word of it."""
    if not (profile.thinking or profile.efforts):
        return {}
    asked: dict[str, Any] = {"summary": "auto"} if summaries else {}
    if effort:
        asked["effort"] = effort
    wanted = {"include": ["reasoning.encrypted_content"]}
    return wanted | {"reasoning": asked} if asked else wanted


def _tool(spec: ToolSpec) -> dict[str, Any]:
    # Without `strict`, which is on by default here and refuses most schemas.
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": False,
    }


def _input(request: LlmRequest, model: ModelRef) -> Iterator[dict[str, Any]]:
    key = f"responses {model}"
    make = partial(_items, request=request, model=model)
    for message in request.messages:
        yield from formed(message, key, make)


def _items(message: Message, request: LlmRequest, model: ModelRef) -> Iterable[dict[str, Any]]:
    if message.role is Role.ASSISTANT:
        return _audible(list(_assistant(message, model)))
    return _user(message, request)


def _audible(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return items up to the last that is more than reasoning, which needs one after it."""
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _assistant(message: Message, model: ModelRef) -> Iterator[dict[str, Any]]:
    """Yield the items of an answer in the order in which they came."""
    said: dict[str, Any] | None = None
    for block in message.blocks:
        if isinstance(block, Opaque) and said is not None and made_by(block, model):
            # The label of the text before it.
            said.update(fields_beside(block) or {})
        if said is not None:
            yield said
        said = _said(block.text) if isinstance(block, Text) else None
        if isinstance(block, ToolCall):
            yield _call(block)
        elif isinstance(block, Opaque) and made_by(block, model) and fields_beside(block) is None:
            yield dict(block.data)
    if said is not None:
        yield said


def _said(text: str) -> dict[str, Any] | None:
    cleaned = clean(text)
    if not cleaned.strip():
        return None
    return {"type": "message", "role": "assistant", "content": cleaned}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = orjson.dumps(call.input, option=orjson.OPT_SORT_KEYS).decode()
    name, call_id = tool_name(call.name), plain_id(call.id, _LONGEST_ID)
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def _user(message: Message, request: LlmRequest) -> Iterator[dict[str, Any]]:
    """Yield tool results and then what was said."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            call_id = plain_id(block.call_id, _LONGEST_ID)
            yield {"type": "function_call_output", "call_id": call_id, "output": clean(block.text)}
    others = (block for block in message.blocks if not isinstance(block, ToolResult))
    content = [_part(part) for part in spoken_parts(others, request.payloads)]
    if content:
        yield {"type": "message", "role": "user", "content": content}


def _part(part: str | File) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    if part.is_image:
        return {"type": "input_image", "detail": "auto", "image_url": part.uri}
    return {"type": "input_file", "filename": part.name, "file_data": part.uri}
