"""How many tokens a call may take, reckoned before it is made: rather too many than too few."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Media,
    ModelRef,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

# English has four bytes a token and more, code and other scripts about three.
_BYTES_A_TOKEN = 3
# An image of the usual size, or the text of a page.
_FILE_TOKENS = 2_000
# Enough for nearly every answer, and what every model of use may be asked for; and where it is
# asked to think hard, which is written too: Gemini 2.5 is given 24,576 tokens for that alone.
_ENOUGH = 8_192
_ENOUGH_FOR_THOUGHT = 32_768
_HARD = frozenset({"high", "xhigh", "max"})
# The most that is asked for: ten searches and pages at OpenAI, five searches at Anthropic. Google
# takes no limit.
_SEARCHES = 10
# A window that seems full may have a quarter left: English takes less than is reckoned.
_LEFT = 4


@dataclass(frozen=True)
class Reckoned:
    """What a call may use at most, and the output that it must be allowed to be of use."""

    most: Usage
    least_output: int


def reckon(model: ModelRef, request: LlmRequest) -> Reckoned:
    """Return what a call may use, nothing of it from a cache.

    Exact in nothing: the prompt is measured by its bytes. The output is what the request allows;
    where it says nothing, what the model can write at all, within its window.
    """
    profile = profile_for(model)
    prompt = _prompt(request)
    output = request.max_tokens or profile.default_max_tokens
    output = min(output, profile.max_tokens or output)
    searches = _SEARCHES if request.web and profile.hosted_web else 0
    if request.max_tokens is not None:
        return Reckoned(Usage(prompt, output, searches=searches), output)
    window = profile.context_window
    if window is not None:
        output = min(output, max(window - prompt, min(window // _LEFT, _ENOUGH)))
    enough = _ENOUGH_FOR_THOUGHT if request.effort in _HARD else _ENOUGH
    return Reckoned(Usage(prompt, output, searches=searches), min(output, enough))


def _prompt(request: LlmRequest) -> int:
    size, files = _length(request.system), 0
    for message in request.messages:
        for block in message.blocks:
            size += _size(block)
            files += isinstance(block, Media)
    for tool in request.tools:
        size += _length(tool.name + tool.description) + len(orjson.dumps(tool.parameters))
    return -(-size // _BYTES_A_TOKEN) + files * _FILE_TOKENS


def _size(block: Block) -> int:
    """Return the bytes of a block's text."""
    match block:
        case Text() | ToolResult():
            return _length(block.text)
        case Thinking():
            return _length(block.text) + _length(block.signature or "")
        case ToolCall():
            return _length(block.name) + len(orjson.dumps(block.input))
        case Opaque():
            return len(orjson.dumps(block.data))
        case Media():
            return 0


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
