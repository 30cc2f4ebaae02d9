"""What each wire format looks like on the wire, scenario by scenario.

A type of provider has one function here of its own name, which answers every scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from tests.fakes.model_script import (
    DONE,
    Cut,
    Delay,
    Part,
    Reply,
    Stall,
    chunk,
    sse,
    usage_chunk,
)

Wire = Callable[[str], Reply]
_OVERLOADED = {"error": {"message": "overloaded", "type": "overloaded_error", "code": None}}


def openai(scenario: str) -> Reply:
    """Chat Completions."""
    return _OPENAI[scenario]()


WIRES: dict[str, Wire] = {"openai": openai}


def _say(*pieces: str) -> list[Part]:
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": p}) for p in pieces)]


def _end(finish: str = "stop") -> list[Part]:
    return [chunk({}, finish), usage_chunk(11, 3), DONE]


def _call(index: int, call_id: str, *arguments: str) -> list[Part]:
    first = {"index": index, "id": call_id, "type": "function"}
    begun = chunk({"tool_calls": [{**first, "function": {"name": "add", "arguments": ""}}]})
    pieces = [{"tool_calls": [{"index": index, "function": {"arguments": a}}]} for a in arguments]
    return [begun, *map(chunk, pieces)]


def _json(value: Any, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    body = [sse(value)[6:]]
    return Reply(body, status, content_type="application/json", headers=named)


def _stream(*parts: Sequence[Part]) -> Reply:
    return Reply([part for group in parts for part in group])


def _failed(status: int, code: str, **headers: str) -> Reply:
    return _json({"error": {"message": "no", "type": code, "code": code}}, status, **headers)


def _closing(reply: Reply) -> Reply:
    return Reply(reply.parts, framing="close")


_OPENAI: dict[str, Callable[[], Reply]] = {
    "text": lambda: _stream(_say("Hel", "lo"), _end()),
    "blank": lambda: _stream(_say(" ", "\n"), _end()),
    "slow text": lambda: _stream(_say("Hel"), [Delay(0.05)], _say("lo"), _end()),
    "thinking": lambda: _stream([chunk({"reasoning_content": "hm"})], _say("Hi"), _end()),
    "call": lambda: _stream(_call(0, "c1", '{"a"', ": 1}"), _end("tool_calls")),
    "two calls": lambda: _stream(_call(0, "c1", "{}"), _call(1, "c2", "{}"), _end("tool_calls")),
    "call without id": lambda: _stream(_call(0, "", "{}"), _end("tool_calls")),
    "cut call": lambda: _stream(_call(0, "c1", '{"a'), _end("length")),
    "promised call": lambda: _stream(_say("Done."), _end("tool_calls")),
    "unknown stop": lambda: _stream(_say("All."), _end("weird")),
    "refusal": lambda: _stream(_say(), _end("content_filter")),
    "surrogate": lambda: _stream(_say("a\ud83d", "b\x00"), _end()),
    "cut": lambda: _stream(_say("half", " an"), [Cut()]),
    "clean cut": lambda: _closing(_stream(_say("half", " an"))),
    "cut before text": lambda: _stream(_say(), [Cut()]),
    "cut after finish": lambda: _stream(_say("All."), [chunk({}, "stop"), Cut()]),
    "stall": lambda: _stream(_say("half"), [Stall()]),
    "silence": lambda: Reply([], before=[Stall()]),
    "keep-alives": lambda: _stream(_say("half"), [b": ping\n\n", Delay(0.05)] * 400),
    "flood": lambda: Reply(repeat(b": ping\n\n")),
    "error inside": lambda: _stream(_say("half"), [sse(_OVERLOADED)]),
    "error at once": lambda: _stream([sse(_OVERLOADED)]),
    "error body": lambda: _json(_OVERLOADED),
    "empty": lambda: Reply([]),
    "html": lambda: Reply([b"<html><body>Welcome</body></html>"], content_type="text/html"),
    "401": lambda: _failed(401, "invalid_api_key"),
    "402": lambda: _failed(402, "insufficient_quota"),
    "404": lambda: _failed(404, "model_not_found"),
    "429": lambda: _failed(429, "rate_limit_exceeded", retry_after="7"),
    "500": lambda: _failed(500, "server_error"),
    "too long": lambda: _failed(400, "context_length_exceeded"),
    "redirect": lambda: _json({}, 307, location="http://127.0.0.1:9/v1"),
}
