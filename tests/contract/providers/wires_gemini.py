"""Gemini's generateContent on the wire, scenario by scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.contract.providers.replies import ANYWHERE, as_json, closing, stream
from tests.fakes.model_gemini import (
    call,
    chunk,
    end,
    error_body,
    error_info,
    retry_info,
    text,
    thought,
)
from tests.fakes.model_script import Cut, Delay, Reply, Stall, sse

_OVERLOADED = error_body(503, "UNAVAILABLE", "The model is overloaded.")
_TOO_LONG = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
_SEALED = {"thoughtSignature": "U0VBTEVE"}
_SEARCH = {"toolCall": {"toolType": "GOOGLE_SEARCH", "id": "s1", "args": {"queries": ["weather"]}}}
_FOUND = {"toolResponse": {"toolType": "GOOGLE_SEARCH", "id": "s1", "response": {"found": "rain"}}}


def _failed(code: int, status: str, *details: dict[str, Any], message: str = "no") -> Reply:
    return as_json(error_body(code, status, message, *details), code)


def _half() -> list[bytes]:
    return [chunk(text("half")), chunk(text(" an"))]


GEMINI: dict[str, Callable[[], Reply]] = {
    **ANYWHERE,
    "text": lambda: stream([chunk(text("Hel"))], end(text("lo"))),
    "blank": lambda: stream([chunk(text(" "))], end(text("\n"))),
    "slow text": lambda: stream([chunk(text("Hel")), Delay(0.05)], end(text("lo"))),
    "thinking": lambda: stream([chunk(thought("hm"))], end(text("Hi"))),
    "call": lambda: stream(end(call("c1", {"a": 1}))),
    "two calls": lambda: stream([chunk(call("c1", {}), call("c2", {}))], end()),
    "call without id": lambda: stream(end(call(None, {}))),
    "cut call": lambda: stream([chunk(call("c1", {}))], end(reason="MALFORMED_FUNCTION_CALL")),
    # The format names no such reason: an answer without a call is just complete.
    "promised call": lambda: stream(end(text("Done."))),
    "unknown stop": lambda: stream([chunk(text("All."))], end(reason="WEIRD")),
    "refusal": lambda: stream(end(reason="SAFETY")),
    "surrogate": lambda: stream([chunk(text("a\ud83d"))], end(text("b\x00"))),
    "usage": lambda: stream(end(text("Hi"), read=20, written=5, thoughts=3, cached=5)),
    "private": lambda: stream(
        [chunk(thought("hm")), chunk(call("c1", {}, **_SEALED)), chunk(text("Hi"))],
        end(text("", **_SEALED)),
    ),
    "hosted": lambda: stream([chunk(_SEARCH), chunk(_FOUND)], end(text("It rains.", **_SEALED))),
    "talk around a search": lambda: stream(
        [chunk(text("Looking.")), chunk(_SEARCH), chunk(_FOUND), chunk(text("It "))],
        end(text("rains.")),
    ),
    "cut": lambda: stream(_half(), [Cut()]),
    "clean cut": lambda: closing(stream(_half())),
    "cut before text": lambda: stream([b": comment\n\n", Cut()]),
    "cut after finish": lambda: stream(end(text("All.")), [Cut()]),
    "stall": lambda: stream([chunk(text("half")), Stall()]),
    "keep-alives": lambda: stream([chunk(text("half"))], [b": ping\n\n", Delay(0.05)] * 400),
    "error inside": lambda: stream([chunk(text("half")), sse(_OVERLOADED)]),
    "error at once": lambda: stream([sse(_OVERLOADED)]),
    "error body": lambda: as_json([_OVERLOADED]),
    # A wrong key is a bad request there, and told by its reason.
    "401": lambda: _failed(400, "INVALID_ARGUMENT", error_info("API_KEY_INVALID")),
    "402": lambda: _failed(400, "FAILED_PRECONDITION", message="enable billing"),
    "404": lambda: _failed(404, "NOT_FOUND"),
    "413": lambda: _failed(413, "INVALID_ARGUMENT"),
    "429": lambda: _failed(429, "RESOURCE_EXHAUSTED", error_info("X"), retry_info(7)),
    "500": lambda: _failed(500, "INTERNAL"),
    "too long": lambda: _failed(400, "INVALID_ARGUMENT", message=_TOO_LONG),
}


def gemini(scenario: str) -> Reply:
    """Gemini."""
    return GEMINI[scenario]()
