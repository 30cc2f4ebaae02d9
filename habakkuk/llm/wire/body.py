"""The JSON of requests and of events, as services take and send it."""

from __future__ import annotations

import json
from typing import Any

import orjson

from habakkuk.llm.contract import BadRequest
from habakkuk.llm.wire.sse import Event


def dumped(body: dict[str, Any]) -> bytes:
    """Return a body as it is sent. Raises BadRequest for what is no JSON."""
    try:
        # In one order: what was stored meanwhile comes back with its keys in another, and the
        # provider's cache knows only what is the same to the byte.
        return orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        # The same again would fail the same way.
        raise BadRequest(f"the request cannot be written as JSON: {error}") from None


def loaded(data: str) -> Any:
    """Return the JSON value, None for what is none."""
    try:
        return orjson.loads(data)
    except ValueError:
        if not data.lstrip().startswith("{"):
            return None
    try:
        # The slower one takes what services really send: NaN, and halves of an emoji in two events.
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def is_error(event: Event, value: dict[str, Any]) -> bool:
    """Whether an event tells of a failure, in any of the usual shapes."""
    said = "error" in (event.name, value.get("object"), value.get("type"))
    return said or bool(value.get("error"))
