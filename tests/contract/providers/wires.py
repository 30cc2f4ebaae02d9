"""What each wire format looks like on the wire, scenario by scenario.

A type of provider has one function here of its own name, which answers every scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from tests.fakes.model_messages import block, delta, end, error_body, event, start, stop
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


def anthropic(scenario: str) -> Reply:
    """Anthropic Messages."""
    return _ANTHROPIC[scenario]()


WIRES: dict[str, Wire] = {"openai": openai, "anthropic": anthropic}


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


def _text(*pieces: str, index: int = 0) -> list[Part]:
    shown = [delta(index, "text", text=piece) for piece in pieces]
    return [block(index, "text", text=""), *shown]


def _spoken(*pieces: str, index: int = 0) -> list[Part]:
    return [*_text(*pieces, index=index), stop(index)]


def _thought(text: str) -> list[Part]:
    shown = delta(0, "thinking", thinking=text)
    return [block(0, "thinking", thinking="", signature=""), shown, stop(0)]


def _used(index: int, call_id: str, *arguments: str) -> list[Part]:
    shown = [delta(index, "input_json", partial_json=piece) for piece in arguments]
    return [block(index, "tool_use", id=call_id, name="add", input={}), *shown, stop(index)]


def _message(*parts: Sequence[Part], reason: str = "end_turn") -> Reply:
    return _stream([start()], *parts, end(reason))


def _broken(*parts: Sequence[Part]) -> Reply:
    return _stream([start()], *parts)


def _refused(status: int, kind: str, message: str = "no", **headers: str) -> Reply:
    return _json(error_body(kind, message), status, **headers)


_FULL = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
_PING = event("ping")
_TOO_LONG = "prompt is too long: 9 tokens > 8 maximum"

_ANTHROPIC: dict[str, Callable[[], Reply]] = {
    "text": lambda: _message(_spoken("Hel", "lo")),
    "blank": lambda: _message(_spoken(" ", "\n")),
    "slow text": lambda: _message(_text("Hel"), [Delay(0.05), delta(0, "text", text="lo")]),
    "thinking": lambda: _message(_thought("hm"), _spoken("Hi", index=1)),
    "call": lambda: _message(_used(0, "c1", '{"a"', ": 1}"), reason="tool_use"),
    "two calls": lambda: _message(_used(0, "c1"), _used(1, "c2", "{}"), reason="tool_use"),
    "call without id": lambda: _message(_used(0, "", "{}"), reason="tool_use"),
    "cut call": lambda: _message(_used(0, "c1", '{"a'), reason="max_tokens"),
    "promised call": lambda: _message(_spoken("Done."), reason="tool_use"),
    "unknown stop": lambda: _message(_spoken("All."), reason="weird"),
    "refusal": lambda: _message(reason="refusal"),
    "surrogate": lambda: _message(_spoken("a\ud83d", "b\x00")),
    "cut": lambda: _broken(_text("half", " an"), [Cut()]),
    "clean cut": lambda: _closing(_broken(_text("half", " an"))),
    "cut before text": lambda: _broken([Cut()]),
    "cut after finish": lambda: _broken(_spoken("All."), end()[:1], [Cut()]),
    "stall": lambda: _broken(_text("half"), [Stall()]),
    "silence": lambda: Reply([], before=[Stall()]),
    "keep-alives": lambda: _broken(_text("half"), [_PING, Delay(0.05)] * 400),
    "flood": lambda: Reply(repeat(_PING)),
    "error inside": lambda: _broken(_text("half"), [_FULL]),
    "error at once": lambda: _stream([_FULL]),
    "error body": lambda: _refused(200, "overloaded_error"),
    "empty": lambda: Reply([]),
    "html": _OPENAI["html"],
    "401": lambda: _refused(401, "authentication_error"),
    "402": lambda: _refused(402, "billing_error"),
    "404": lambda: _refused(404, "not_found_error"),
    "429": lambda: _refused(429, "rate_limit_error", retry_after="7"),
    "500": lambda: _refused(500, "api_error"),
    "too long": lambda: _refused(400, "invalid_request_error", _TOO_LONG),
    "redirect": _OPENAI["redirect"],
}
