"""Our transcript as the body of a Messages request.

Plain dicts, which the adapter writes itself: at 400 messages that costs half of what the SDK takes.
What was sent before is sent again byte for byte, so that the provider's cache and the signatures
of earlier thinking hold; only the marks of the cache points move, and they do not count there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from habakkuk.core.text import clean
from habakkuk.llm.contract import Profile
from habakkuk.llm.profiles.efforts import fitting_effort
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Message,
    ModelRef,
    Opaque,
    Role,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from habakkuk.llm.wire.outgoing import fitted, hashed_id, spoken, tool_name

_GOOD_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CACHED = {"type": "ephemeral"}
# A request may have four cache points: the tools, the system prompt and these.
_CACHED_MESSAGES = 2
_SILENT = ("thinking", "redacted_thinking")


def request_body(request: LlmRequest, profile: Profile, model: ModelRef) -> dict[str, Any]:
    """Return the body without `model` and `stream`."""
    request = fitted(request, profile)
    limit = request.max_tokens or profile.default_max_tokens
    body: dict[str, Any] = {
        "max_tokens": min(limit, profile.max_tokens or limit),
        "messages": _cached_messages(list(_messages(request.messages, model))),
    }
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
        body["tools"][-1]["cache_control"] = _CACHED
    return body | dict(_options(request, profile))


def _options(request: LlmRequest, profile: Profile) -> Iterator[tuple[str, Any]]:
    if profile.thinking:
        # Newer models leave the text of their thinking out unless it is asked for.
        yield "thinking", {"type": profile.thinking, "display": "summarized"}
    if effort := fitting_effort(request.effort, profile):
        yield "output_config", {"effort": effort}
    if profile.temperature is not None:
        yield "temperature", profile.temperature


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.parameters,
    }


def _cached_messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Set cache points at the end of the last user messages."""
    users = [message for message in messages if message["role"] == "user"]
    for message in users[-_CACHED_MESSAGES:]:
        message["content"][-1]["cache_control"] = _CACHED
    return messages


def _messages(messages: Iterable[Message], model: ModelRef) -> Iterator[dict[str, Any]]:
    begun = False
    for message in messages:
        if message.role is Role.USER:
            content = list(_user(message))
        else:
            content = _audible(list(_assistant(message, model)))
        if not content:
            continue
        if not begun and message.role is Role.ASSISTANT:
            # A conversation begins with its user; what is cut from its front may leave an answer.
            yield {"role": "user", "content": [{"type": "text", "text": "(earlier messages)"}]}
        begun = True
        yield {"role": message.role.value, "content": content}


def _assistant(message: Message, model: ModelRef) -> Iterator[dict[str, Any]]:
    for block in message.blocks:
        if isinstance(block, ToolCall):
            name = tool_name(block.name)
            yield {"type": "tool_use", "id": _id(block.id), "name": name, "input": block.input}
        elif isinstance(block, Thinking):
            if block.signature and _made_by(block, model):
                signed = {"thinking": block.text, "signature": block.signature}
                yield {"type": "thinking", **signed}
        elif isinstance(block, Opaque):
            if _made_by(block, model):
                yield dict(block.data)
        elif spoken(block).strip():
            yield {"type": "text", "text": spoken(block)}


def _made_by(block: Thinking | Opaque, model: ModelRef) -> bool:
    return block.provider == model.provider and block.model in (None, model.model)


def _audible(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an assistant's blocks up to the last that says something: none may end in thinking."""
    while content and content[-1]["type"] in _SILENT:
        content.pop()
    return content


def _user(message: Message) -> Iterator[dict[str, Any]]:
    """Yield all tool results, which must stand first, and then the rest."""
    yield from (_result(block) for block in message.blocks if isinstance(block, ToolResult))
    for block in message.blocks:
        if spoken(block).strip():
            yield {"type": "text", "text": spoken(block)}


def _result(block: ToolResult) -> dict[str, Any]:
    text = clean(block.text)
    wired: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(block.call_id)}
    # Blank content is refused, most of all in errors.
    wired["content"] = text if text.strip() else "(no output)"
    if block.is_error:
        wired["is_error"] = True
    return wired


def _id(call_id: str) -> str:
    """Return the id as the service takes it: the same for a call and its result."""
    return call_id if _GOOD_ID.fullmatch(call_id) else f"call_{hashed_id(call_id, 24)}"


def without_thinking(request: LlmRequest) -> LlmRequest:
    """Return the request without any block that a provider had signed or sealed."""
    messages = tuple(
        Message(message.role, tuple(b for b in message.blocks if not _sealed(b)))
        for message in request.messages
    )
    return replace(request, messages=messages)


def _sealed(block: Block) -> bool:
    return isinstance(block, Thinking | Opaque)


def replays_thinking(request: LlmRequest, model: ModelRef) -> bool:
    """Whether the request takes sealed blocks back to `model`."""
    return any(
        isinstance(block, Thinking | Opaque) and _made_by(block, model)
        for message in request.messages
        for block in message.blocks
    )
