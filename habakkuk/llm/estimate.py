"""How many tokens a call may take, reckoned before it is made: rather too many than too few."""

from __future__ import annotations

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


def most(model: ModelRef, request: LlmRequest) -> Usage:
    """Return what a call may use at most, nothing of it from a cache.

    Exact in nothing: the prompt is measured by its bytes, and the output is what the model is
    allowed to write, or writes at most where nobody limits it.
    """
    profile = profile_for(model)
    bound = request.max_tokens or profile.max_tokens or profile.default_max_tokens
    return Usage(_prompt(request), bound)


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
