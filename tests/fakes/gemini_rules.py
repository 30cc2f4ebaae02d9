"""What Gemini demands of a request, as strictly as Google documents it for models from 3 on."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

_DATA = ("text", "functionCall", "functionResponse", "inlineData", "toolCall", "toolResponse")


def gemini_violations(body: dict[str, Any]) -> list[str]:
    """Return what is wrong with a request, empty when the service would take it."""
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return ["contents: missing or empty"]
    return [*_frame(body, contents), *_turns(contents), *_signatures(contents)]


def _frame(body: dict[str, Any], contents: Sequence[dict[str, Any]]) -> Iterator[str]:
    if "model" in body or "stream" in body:
        yield "the model and the wish to stream stand in the address"
    if contents[0].get("role") != "user":
        yield "the first content is not the user's"
    if contents[-1].get("role") != "user":
        yield "the last content is not the user's"


def _turns(contents: Sequence[dict[str, Any]]) -> Iterator[str]:
    opened: list[tuple[Any, Any]] = []
    for place, content in enumerate(contents):
        parts = content.get("parts") or []
        if content.get("role") not in ("user", "model") or not parts:
            yield f"contents[{place}]: role {content.get('role')!r} with {len(parts)} parts"
        yield from (f"contents[{place}]: {fault}" for fault in _parts(parts))
        answers = [_named(p["functionResponse"]) for p in parts if "functionResponse" in p]
        if answers != opened:
            yield f"contents[{place}]: the responses are not those of the calls {opened}"
        opened = [_named(p["functionCall"]) for p in parts if "functionCall" in p]
    if opened:
        yield f"at the end: {opened} have no response"


def _named(call: dict[str, Any]) -> tuple[Any, Any]:
    return call.get("id"), call.get("name")


def _parts(parts: Sequence[dict[str, Any]]) -> Iterator[str]:
    for part in parts:
        if sum(name in part for name in _DATA) != 1:
            yield f"a part with {sorted(part)}"
        if part.get("text") == "" and "thoughtSignature" not in part:
            yield "an empty text"
        if "thoughtSignature" in part:
            # Bytes in JSON, with either alphabet.
            base64.urlsafe_b64decode(part["thoughtSignature"].replace("+", "-").replace("/", "_"))


def _signatures(contents: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Check the current turn: the first call of each of its steps must be signed."""
    spoken = [
        place
        for place, content in enumerate(contents)
        if content.get("role") == "user" and any("text" in p for p in content.get("parts", ()))
    ]
    for content in contents[spoken[-1] if spoken else 0 :]:
        calls = [part for part in content.get("parts", ()) if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            yield f"function call {calls[0]['functionCall'].get('name')!r} has no thought_signature"
