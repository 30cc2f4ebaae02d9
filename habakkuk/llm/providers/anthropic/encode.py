"""Our transcript as the body of a Messages request.

Plain dicts, which the adapter writes itself: at 400 messages that costs half of what the SDK takes.
What was sent before is sent again byte for byte, so that the provider's cache and the signatures
of earlier thinking hold; only the marks of the cache points move, and they do not count there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
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
    Payload,
    Role,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from habakkuk.llm.wire.files import File, file_of
from habakkuk.llm.wire.outgoing import (
    fields_beside,
    fitted,
    formed,
    made_by,
    plain_id,
    spoken,
    tool_name,
)

_LONGEST_ID = 64
_CACHED = {"type": "ephemeral"}
# A request may have four cache points: the tools, the system prompt and these.
_CACHED_MESSAGES = 2
_SILENT = ("thinking", "redacted_thinking")
_HOSTED_CALL, _HOSTED_RESULT = "server_tool_use", "_tool_result"
# How often each may be used in one answer. Called by the model itself and not from within its own
# programs, whose blocks would come too.
_WITHIN = {"allowed_callers": ["direct"], "max_uses": 5}
_HOSTED = (
    {"type": "web_search_20260318", "name": "web_search", **_WITHIN},
    {"type": "web_fetch_20260318", "name": "web_fetch", **_WITHIN},
)


def request_body(request: LlmRequest, profile: Profile, model: ModelRef) -> dict[str, Any]:
    """Return the body without `model` and `stream`."""
    request = fitted(request, profile)
    limit = request.max_tokens or profile.default_max_tokens
    body: dict[str, Any] = {
        "max_tokens": min(limit, profile.max_tokens or limit),
        "messages": _cached_messages(list(_messages(request, model))),
    }
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    hosted = _HOSTED if request.web and profile.hosted_web else ()
    # Two tools of one name are refused; where the service searches itself, ours is not needed.
    names = {tool["name"] for tool in hosted}
    own = (tool for tool in request.tools if tool.name not in names)
    tools = [*(dict(tool) for tool in hosted), *map(_tool, own)]
    if tools:
        tools[-1]["cache_control"] = _CACHED
        body["tools"] = tools
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
        *others, last = message["content"]
        message["content"] = [*others, last | {"cache_control": _CACHED}]
    return messages


def _messages(request: LlmRequest, model: ModelRef) -> Iterator[dict[str, Any]]:
    last: dict[str, Any] | None = None
    for message in request.messages:
        content = _content(message, request, model)
        if not content:
            continue
        if last is None and message.role is Role.ASSISTANT:
            # A conversation begins with its user; what is cut from its front may leave an answer.
            yield _note("(earlier messages)")
        last = {"role": message.role.value, "content": content}
        yield last
    if last is not None and last["role"] == "assistant" and not _is_paused(last["content"]):
        # Where another model paused: no message may be begun for this one.
        yield _note("(go on)")


def _note(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _content(message: Message, request: LlmRequest, model: ModelRef) -> Sequence[dict[str, Any]]:
    key = f"messages {model}"
    if message.role is Role.USER:
        return formed(message, key, partial(_user, payloads=request.payloads))
    if message is request.messages[-1]:
        content = _audible(list(_assistant(message, model)))
        if _is_paused(content):
            # The service goes on with calls of its own when they come back unchanged.
            return content
    return formed(message, key, partial(_said, model=model))


def _said(message: Message, model: ModelRef) -> list[dict[str, Any]]:
    return _audible(_paired(_audible(list(_assistant(message, model)))))


def _is_paused(content: Iterable[dict[str, Any]]) -> bool:
    """Whether a last message is one that the service itself paused in: it used its own tools."""
    return any(b["type"] == _HOSTED_CALL or _is_hosted_result(b["type"]) for b in content)


def _is_hosted_result(kind: str) -> bool:
    return kind.endswith(_HOSTED_RESULT)


def _paired(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks without hosted calls that have no result and results without a call."""
    calls = {block["id"] for block in content if block["type"] == _HOSTED_CALL}
    results = {b["tool_use_id"] for b in content if _is_hosted_result(b["type"])}
    lone = calls ^ results
    return [b for b in content if b.get("id", b.get("tool_use_id")) not in lone]


def _assistant(message: Message, model: ModelRef) -> Iterator[dict[str, Any]]:
    for block in message.blocks:
        if isinstance(block, ToolCall):
            name = tool_name(block.name)
            yield {"type": "tool_use", "id": _id(block.id), "name": name, "input": block.input}
        elif isinstance(block, Thinking):
            if block.signature and made_by(block, model):
                signed = {"thinking": block.text, "signature": block.signature}
                yield {"type": "thinking", **signed}
        elif isinstance(block, Opaque):
            if made_by(block, model) and fields_beside(block) is None:
                yield dict(block.data)
        elif spoken(block).strip():
            yield {"type": "text", "text": spoken(block)}


def _audible(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an assistant's blocks up to the last that says something: none may end in thinking."""
    while content and content[-1]["type"] in _SILENT:
        content.pop()
    return content


def _user(message: Message, payloads: Mapping[str, Payload]) -> Iterator[dict[str, Any]]:
    """Yield all tool results, which must stand first, and then the rest."""
    yield from (_result(block) for block in message.blocks if isinstance(block, ToolResult))
    for block in message.blocks:
        if file := file_of(block, payloads):
            yield _file(file)
        elif spoken(block).strip():
            yield {"type": "text", "text": spoken(block)}


def _file(file: File) -> dict[str, Any]:
    source = {"type": "base64", "media_type": file.mime, "data": file.base64}
    if file.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": file.name}


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
    return plain_id(call_id, _LONGEST_ID)


def without_thinking(request: LlmRequest) -> LlmRequest:
    """Return the request without any block that a provider had signed or sealed."""
    messages = tuple(
        Message(message.role, tuple(b for b in message.blocks if not _sealed(b)))
        for message in request.messages
    )
    return replace(request, messages=messages)


def _sealed(block: Block) -> bool:
    hidden = isinstance(block, Opaque) and block.data.get("type") in _SILENT
    return hidden or isinstance(block, Thinking)


def replays_thinking(request: LlmRequest, model: ModelRef) -> bool:
    """Whether the request takes sealed blocks back to `model`."""
    return any(
        isinstance(block, Thinking | Opaque) and _sealed(block) and made_by(block, model)
        for message in request.messages
        for block in message.blocks
    )
