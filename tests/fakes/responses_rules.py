"""What OpenAI's Responses demand of a request, as strictly as it documents and answers it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PARTS = {
    "input_text": ("text",),
    "input_image": ("image_url", "detail"),
    "input_file": ("filename", "file_data"),
}


def responses_violations(body: dict[str, Any]) -> list[str]:
    """Return what is wrong with a request, empty when the service would take it."""
    items = body.get("input")
    if not isinstance(items, list) or not items:
        return ["input: missing or empty"]
    return [*_frame(body), *_calls(items), *_items(items)]


def _frame(body: dict[str, Any]) -> Iterator[str]:
    if body.get("store") is not False:
        yield "store: something would be kept"
    if "messages" in body:
        yield "messages: unknown parameter"
    for tool in body.get("tools", ()):
        if tool.get("type") == "function" and not tool.get("name"):
            yield "tools: a function without a name; they are flat here"


def _calls(items: Sequence[dict[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    opened: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            call_id = str(item.get("call_id"))
            if call_id in seen or not _ID.fullmatch(call_id):
                yield f"call id {call_id!r} is bad or used before"
            seen.add(call_id)
            opened.append(call_id)
        elif item.get("type") == "function_call_output":
            if item.get("call_id") not in opened:
                yield f"No tool call found for function call output {item.get('call_id')!r}"
            else:
                opened.remove(item["call_id"])
    if opened:
        yield f"No tool output found for function call {opened}"


def _items(items: Sequence[dict[str, Any]]) -> Iterator[str]:
    for place, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "message":
            yield from _message(item)
        elif kind == "function_call" and not isinstance(item.get("arguments"), str):
            yield "arguments: no text"
        elif kind == "function_call_output" and not isinstance(item.get("output"), str | list):
            yield "output: no text"
        elif kind == "reasoning":
            after = items[place + 1] if place + 1 < len(items) else {}
            if after.get("role") == "user" or not after:
                yield "reasoning without its required following item"
            if not item.get("encrypted_content"):
                yield "reasoning that is not stored has no encrypted content"


def _message(item: dict[str, Any]) -> Iterator[str]:
    if item.get("role") not in ("user", "assistant"):
        yield f"role {item.get('role')!r}"
    content = item.get("content")
    if isinstance(content, str):
        if not content.strip():
            yield "an empty message"
        return
    if not content:
        yield "an empty message"
    for part in content or ():
        if not all(part.get(name) for name in _PARTS.get(part.get("type"), ("type of a part",))):
            yield f"a part of type {part.get('type')!r} is not whole"
