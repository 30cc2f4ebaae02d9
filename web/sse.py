"""Server-sent events, as bytes and as a response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from flask import Response

from habakkuk.core.log import get_logger

_log = get_logger("web")
KEEPALIVE = b": keepalive\n\n"


def sse(data: dict[str, Any] | str, *, event: str | None = None, id: int | None = None) -> bytes:
    """Return one event. JSON has no bare line ends, so one data line is enough."""
    head = b""
    if id is not None:
        head += b"id: %d\n" % id
    if event is not None:
        head += b"event: " + event.encode() + b"\n"
    body = data.encode() if isinstance(data, str) else orjson.dumps(data)
    return head + b"data: " + body + b"\n\n"


def _guarded(parts: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from parts
    except Exception:  # noqa: BLE001 - a request's top: its headers are sent, only the log is left
        _log.exception("stream failed")


def sse_response(parts: Iterator[bytes]) -> Response:
    """Return a response that sends `parts` as they come."""
    response = Response(_guarded(parts), content_type="text/event-stream; charset=utf-8")
    # A buffering proxy would hold the text back.
    response.headers["X-Accel-Buffering"] = "no"
    return response
