"""How long an answer may keep us waiting: until it begins, in silence, with signs of life alone.

A line that sends comments or empty pieces is alive, and says nothing of whether an answer will
come: behind a proxy that keeps it so, a model that died would hold its turn for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from habakkuk.core.lines import Call
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.types import LlmEvent

# What an empty piece has too: names, numbers and times of the answer, not a part of it.
_ABOUT = frozenset(
    {
        "id",
        "item_id",
        "object",
        "type",
        "model",
        "modelVersion",
        "responseId",
        "created",
        "index",
        "output_index",
        "content_index",
        "sequence_number",
        "role",
        "provider",
        "system_fingerprint",
        "service_tier",
        "obfuscation",
    }
)


class Wait:
    """The limits of one call, moved on by what comes."""

    def __init__(self, call: Call, endpoint: Endpoint) -> None:
        """Limit `call` as the endpoint says."""
        self._call = call
        self._pings = endpoint.ping_timeout
        self._silence = endpoint.stall_timeout

    def begun(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the chunks; with the first of them the answer has begun."""
        for number, chunk in enumerate(chunks):
            if number == 0:
                self._moved()
            yield chunk

    def lively(self, value: dict[str, Any], shown: Iterable[LlmEvent]) -> Iterator[LlmEvent]:
        """Yield what an event shows; it counts when it shows or carries anything."""
        counts = False
        for event in shown:
            counts = True
            yield event
        if counts or _carries(value):
            self._moved()

    def _moved(self) -> None:
        self._call.expect(self._pings, self._silence)


def what_was_awaited(call: Call, endpoint: Endpoint) -> str:
    """Return what did not come in its time, and the setting that bounds it."""
    if not call.begun:
        limit = endpoint.first_byte_timeout
        return f"no answer began within {limit:g} s (first_byte_timeout)"
    if call.overdue:
        return f"only signs of life came for {endpoint.ping_timeout:g} s (ping_timeout)"
    return f"nothing came for {endpoint.stall_timeout:g} s (stall_timeout)"


def _carries(value: Any) -> bool:
    """Whether there is anything in an event beside what it says about itself."""
    if isinstance(value, dict):
        return any(_carries(inside) for name, inside in value.items() if name not in _ABOUT)
    if isinstance(value, list):
        return any(map(_carries, value))
    return value not in (None, "", False)
