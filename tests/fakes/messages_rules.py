"""What the Messages format demands of a request, as strictly as Anthropic documents it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_CACHE_POINTS = 4
_FILES = ("image", "document")
_HOSTED = ("server_tool_use", "web_search_tool_result", "web_fetch_tool_result")


def messages_violations(body: dict[str, Any]) -> list[str]:
    """Return what is wrong with a request, empty when the service would take it."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: missing or empty"]
    return [*_frame(body, messages), *_turns(messages)]


def _frame(body: dict[str, Any], messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: missing or no positive number"
    if messages[0].get("role") != "user":
        yield "messages[0]: the first message is not the user's"
    if messages[-1].get("role") != "user" and not _hosted_ids(messages[-1]):
        yield "the last message is not the user's, and no paused one"
    if str(body).count("'cache_control'") > _CACHE_POINTS:
        yield "more than four cache points"
    names = [tool.get("name") for tool in body.get("tools", ())]
    if len(set(names)) != len(names):
        yield "two tools have one name"


def _turns(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        found = list(_message(message, blocks))
        if message.get("role") == "user":
            found += _answers(blocks, open_ids)
            open_ids = []
        else:
            found += [f"{open_ids} have no result right after"] if open_ids else []
            open_ids = [str(b.get("id")) for b in blocks if b.get("type") == "tool_use"]
            found += _ids(open_ids, seen)
        if place < len(messages) - 1:
            # The last one may be paused in the middle.
            found += _hosted(message, blocks)
        yield from (f"messages[{place}]: {fault}" for fault in found)
    if open_ids:
        yield f"at the end: {open_ids} have no result"


def _hosted_ids(message: dict[str, Any]) -> set[str]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return {str(b.get("id")) for b in blocks if b.get("type") == "server_tool_use"}


def _hosted(message: dict[str, Any], blocks: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Check that each hosted call has its result, and each result its call."""
    given = {str(b.get("tool_use_id")) for b in blocks if str(b.get("type")).startswith("web_")}
    for lone in sorted(_hosted_ids(message) ^ given):
        yield f"{lone}: a hosted call without a result, or a result without a call"


def _message(message: dict[str, Any], blocks: Sequence[dict[str, Any]]) -> Iterator[str]:
    if message.get("role") not in ("user", "assistant"):
        yield f"role {message.get('role')!r}"
    if not blocks:
        yield "empty"
    for block in blocks:
        yield from _blank(block)
    if blocks and blocks[-1].get("type") in ("thinking", "redacted_thinking"):
        yield "the last block is thinking"


def _ids(call_ids: Sequence[str], seen: set[str]) -> Iterator[str]:
    for call_id in call_ids:
        if call_id in seen or not _ID.fullmatch(call_id):
            yield f"call id {call_id!r} is bad or used before"
        seen.add(call_id)


def _answers(blocks: Sequence[dict[str, Any]], open_ids: list[str]) -> Iterator[str]:
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if sorted(str(b.get("tool_use_id")) for b in results) != sorted(open_ids):
        yield f"the results are not those of {open_ids}"
    if list(blocks[: len(results)]) != results:
        yield "a result stands after something else"


def _blank(block: dict[str, Any]) -> Iterator[str]:
    """Check one block for what must be there."""
    kind = block.get("type")
    if kind == "text" and not str(block.get("text") or "").strip():
        yield "a blank text"
    if kind == "tool_use" and not (block.get("name") and isinstance(block.get("input"), dict)):
        yield "a call without a name or an object"
    if kind == "tool_result" and not str(block.get("content") or "").strip():
        yield "a result without content"
    if kind == "thinking" and not block.get("signature"):
        yield "thinking without a signature"
    if kind in ("thinking", "redacted_thinking") and "cache_control" in block:
        yield "a cache point at thinking"
    known = ("text", "tool_use", "tool_result", "thinking", "redacted_thinking", *_FILES, *_HOSTED)
    if kind not in known:
        yield f"a block of type {kind!r}"
