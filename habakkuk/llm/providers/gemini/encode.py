"""Our transcript as the body of a generateContent request.

Thought signatures go back on the parts on which they came, to the model that made them. From 3 on
models refuse a step's first call without one, so that calls of others carry the value which Google
documents for a history that another model wrote. All of them do, in this turn and in earlier ones:
then what was sent once is sent again byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from habakkuk.llm.wire.files import File, spoken_parts
from habakkuk.llm.wire.outgoing import fields_beside, fitted, made_by, spoken, tool_name

# https://ai.google.dev/gemini-api/docs/thought-signatures
_UNSIGNED = "skip_thought_signature_validator"
# The kind of Profile.thinking from 3 on; models of 2.x have a budget of tokens, and may do without
# signatures.
_LEVEL = "level"
# As Google's own translation of efforts into tokens has them; 0 turns thinking off.
_BUDGETS = {
    "none": 0,
    "minimal": 1024,
    "low": 1024,
    "medium": 8192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}


def request_body(request: LlmRequest, profile: Profile, model: ModelRef) -> dict[str, Any]:
    """Return the whole body; the model stands in the address."""
    request = fitted(request, profile)
    body: dict[str, Any] = {"contents": list(_Contents(request, profile, model))}
    if request.system.strip():
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if config := dict(_generation(request, profile)):
        body["generationConfig"] = config
    return body | _tools(request, profile)


def _generation(request: LlmRequest, profile: Profile) -> Iterator[tuple[str, Any]]:
    limits = [n for n in (request.max_tokens, profile.max_tokens) if n is not None]
    if limits:
        yield "maxOutputTokens", min(limits)
    if profile.temperature is not None:
        yield "temperature", profile.temperature
    if profile.thinking:
        yield "thinkingConfig", _thinking(fitting_effort(request.effort, profile), profile)


def _thinking(effort: str | None, profile: Profile) -> dict[str, Any]:
    # Thoughts may not be asked for where there are none.
    shown: dict[str, Any] = {"includeThoughts": True}
    if effort is None:
        return shown
    if profile.thinking == _LEVEL:
        return shown | {"thinkingLevel": effort.upper()}
    budget = _BUDGETS[effort]
    return (shown if budget else {}) | {"thinkingBudget": budget}


def _tools(request: LlmRequest, profile: Profile) -> dict[str, Any]:
    functions = [_function(spec) for spec in request.tools]
    tools: list[dict[str, Any]] = []
    # Models before 3 take either functions or the hosted tools.
    if request.web and profile.hosted_web and (not functions or profile.thinking == _LEVEL):
        tools += [{"googleSearch": {}}, {"urlContext": {}}]
    mixed = bool(tools and functions)
    if functions:
        tools.append({"functionDeclarations": functions})
    if mixed:
        # Beside functions the hosted calls must come along, to be sent back with them.
        return {"tools": tools, "toolConfig": {"includeServerSideToolInvocations": True}}
    return {"tools": tools} if tools else {}


def _function(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "parametersJsonSchema": spec.parameters,
    }


class _Contents:
    """The conversation, message by message; results are named by the calls before them."""

    def __init__(self, request: LlmRequest, profile: Profile, model: ModelRef) -> None:
        self._request = request
        self._model = model
        self._signed = profile.thinking == _LEVEL or not profile.known
        self._names: dict[str, str] = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        last = ""
        for message in self._request.messages:
            for content in self._contents(message):
                if not last and content["role"] == "model":
                    # A conversation begins with its user; what is cut from its front may not.
                    yield {"role": "user", "parts": [{"text": "(earlier messages)"}]}
                last = content["role"]
                yield content
        if last == "model":
            yield {"role": "user", "parts": [{"text": "(go on)"}]}

    def _contents(self, message: Message) -> Iterator[dict[str, Any]]:
        if message.role is Role.ASSISTANT:
            groups = [("model", list(self._said(message)))]
        else:
            # Results stand alone: they are counted against the calls before them.
            results = [self._result(b) for b in message.blocks if isinstance(b, ToolResult)]
            groups = [("user", results), ("user", list(self._asked(message)))]
        yield from ({"role": role, "parts": parts} for role, parts in groups if parts)

    def _said(self, message: Message) -> Iterator[dict[str, Any]]:
        """Yield the parts of an answer, signatures on their own."""
        text: dict[str, Any] | None = None
        first = True
        for block in message.blocks:
            beside = fields_beside(block) if isinstance(block, Opaque) else None
            if text is not None:
                yield text | (beside if beside and self._is_own(block) else {})
            text = _text(block) if isinstance(block, Text) else None
            if isinstance(block, ToolCall):
                yield self._call(block, first=first)
                first = False
            elif isinstance(block, Thinking | Opaque) and beside is None and self._is_own(block):
                yield from _private(block)
        if text is not None:
            yield text

    def _is_own(self, block: Block) -> bool:
        return isinstance(block, Thinking | Opaque | ToolCall) and made_by(block, self._model)

    def _call(self, call: ToolCall, *, first: bool) -> dict[str, Any]:
        name = self._names[call.id] = tool_name(call.name)
        part: dict[str, Any] = {"functionCall": {"id": call.id, "name": name, "args": call.input}}
        if call.signature and self._is_own(call):
            part["thoughtSignature"] = call.signature
        elif first and self._signed:
            # Of calls side by side only the first has one.
            part["thoughtSignature"] = _UNSIGNED
        return part

    def _result(self, result: ToolResult) -> dict[str, Any]:
        name = self._names.get(result.call_id, "unnamed")
        key = "error" if result.is_error else "output"
        response = {key: clean(result.text)}
        return {"functionResponse": {"id": result.call_id, "name": name, "response": response}}

    def _asked(self, message: Message) -> Iterator[dict[str, Any]]:
        others = (block for block in message.blocks if not isinstance(block, ToolResult))
        for part in spoken_parts(others, self._request.payloads):
            if isinstance(part, File):
                yield {"inlineData": {"mimeType": part.mime, "data": part.base64}}
            else:
                yield {"text": part}


def _text(block: Block) -> dict[str, Any] | None:
    text = spoken(block)
    return {"text": text} if text.strip() else None


def _private(block: Thinking | Opaque) -> Iterator[dict[str, Any]]:
    if isinstance(block, Opaque):
        yield dict(block.data)
    elif block.signature:
        yield {"text": block.text, "thought": True, "thoughtSignature": block.signature}
