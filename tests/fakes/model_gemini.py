"""Chunks of Gemini's generateContent, in the documented shape."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.model_script import sse


def chunk(
    *parts: dict[str, Any],
    finish: str | None = None,
    candidate: dict[str, Any] | None = None,
    **more: Any,
) -> bytes:
    """Return one chunk of an answer; usage and other things of it may stand beside."""
    candidate = {"index": 0, **(candidate or {})}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish:
        candidate["finishReason"] = finish
    return sse({"candidates": [candidate], "modelVersion": "m", "responseId": "r1", **more})


def usage(
    read: int = 11, written: int = 3, thoughts: int | None = None, cached: int | None = None
) -> dict[str, Any]:
    """Return usage as it stands in a chunk."""
    counts = {
        "promptTokenCount": read,
        "candidatesTokenCount": written,
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": cached,
        "totalTokenCount": read + written + (thoughts or 0),
    }
    return {"usageMetadata": {key: value for key, value in counts.items() if value is not None}}


def text(said: str, **more: Any) -> dict[str, Any]:
    """Return a part with text."""
    return {"text": said, **more}


def thought(said: str, **more: Any) -> dict[str, Any]:
    """Return a part with a thought."""
    return {"text": said, "thought": True, **more}


def call(call_id: str | None, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a part with a call; services may leave its id out."""
    named = {"id": call_id} if call_id else {}
    return {"functionCall": {**named, "name": "add", "args": arguments}, **more}


def end(*parts: dict[str, Any], reason: str = "STOP", **counts: Any) -> list[bytes]:
    """Return the last chunk."""
    return [chunk(*parts, finish=reason, **usage(**counts))]


def error_body(
    code: int, status: str, message: str = "no", *details: dict[str, Any]
) -> dict[str, Any]:
    """Return an error."""
    more = {"details": list(details)} if details else {}
    return {"error": {"code": code, "message": message, "status": status, **more}}


def retry_info(seconds: float) -> dict[str, Any]:
    """Return the detail that names a wait."""
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds:g}s"}


def error_info(reason: str) -> dict[str, Any]:
    """Return the detail that names a reason."""
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}


def as_bytes(value: dict[str, Any]) -> bytes:
    """Return a body."""
    return json.dumps(value).encode()
