"""What each wire format looks like on the wire, scenario by scenario.

A type of provider has one function here of its own name, which answers every scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat

from tests.contract.providers.replies import ANYWHERE, as_json, closing, stream
from tests.contract.providers.wires_gemini import gemini
from tests.contract.providers.wires_responses import responses
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


WIRES: dict[str, Wire] = {
    "openai": openai,
    "anthropic": anthropic,
    "responses": responses,
    "gemini": gemini,
}


def knowing(scenario: str) -> list[str]:
    """Return the formats that have such a scenario at all."""
    return [kind for kind, wire in WIRES.items() if _knows(wire, scenario)]


def _knows(wire: Wire, scenario: str) -> bool:
    try:
        wire(scenario)
    except KeyError:
        return False
    return True


# What stands in a stream from the event on after which the answer is whole.
ENDS: dict[str, tuple[bytes, ...]] = {
    "openai": (b'"finish_reason": "', b"[DONE]"),
    "anthropic": (b'"stop_reason": "', b"message_stop"),
    "responses": (b'"type": "response.completed"',),
    "gemini": (b'"finishReason"',),
}


def _say(*pieces: str) -> list[Part]:
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": p}) for p in pieces)]


def _end(finish: str = "stop") -> list[Part]:
    return [chunk({}, finish), usage_chunk(11, 3), DONE]


def _call(index: int, call_id: str, *arguments: str) -> list[Part]:
    first = {"index": index, "id": call_id, "type": "function"}
    begun = chunk({"tool_calls": [{**first, "function": {"name": "add", "arguments": ""}}]})
    pieces = [{"tool_calls": [{"index": index, "function": {"arguments": a}}]} for a in arguments]
    return [begun, *map(chunk, pieces)]


def _failed(status: int, code: str, **headers: str) -> Reply:
    return as_json({"error": {"message": "no", "type": code, "code": code}}, status, **headers)


_COUNTED = {
    "choices": [],
    "usage": {
        "prompt_tokens": 20,
        "completion_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 3},
    },
}

_OPENAI: dict[str, Callable[[], Reply]] = {
    **ANYWHERE,
    "text": lambda: stream(_say("Hel", "lo"), _end()),
    "blank": lambda: stream(_say(" ", "\n"), _end()),
    "slow text": lambda: stream(_say("Hel"), [Delay(0.05)], _say("lo"), _end()),
    "thinking": lambda: stream([chunk({"reasoning_content": "hm"})], _say("Hi"), _end()),
    "call": lambda: stream(_call(0, "c1", '{"a"', ": 1}"), _end("tool_calls")),
    "two calls": lambda: stream(_call(0, "c1", "{}"), _call(1, "c2", "{}"), _end("tool_calls")),
    "call without id": lambda: stream(_call(0, "", "{}"), _end("tool_calls")),
    "cut call": lambda: stream(_call(0, "c1", '{"a'), _end("length")),
    "promised call": lambda: stream(_say("Done."), _end("tool_calls")),
    "unknown stop": lambda: stream(_say("All."), _end("weird")),
    "refusal": lambda: stream(_say(), _end("content_filter")),
    "surrogate": lambda: stream(_say("a\ud83d", "b\x00"), _end()),
    "usage": lambda: stream(_say("Hi"), [chunk({}, "stop"), sse(_COUNTED), DONE]),
    "private": lambda: stream(
        [chunk({"reasoning_content": "SEALED"})], _call(0, "c1", "{}"), _say("Hi"), _end()
    ),
    "cut": lambda: stream(_say("half", " an"), [Cut()]),
    "clean cut": lambda: closing(stream(_say("half", " an"))),
    "cut before text": lambda: stream(_say(), [Cut()]),
    "cut after finish": lambda: stream(_say("All."), [chunk({}, "stop"), Cut()]),
    "stall": lambda: stream(_say("half"), [Stall()]),
    "keep-alives": lambda: stream(_say("half"), [b": ping\n\n", Delay(0.05)] * 400),
    "error inside": lambda: stream(_say("half"), [sse(_OVERLOADED)]),
    "error at once": lambda: stream([sse(_OVERLOADED)]),
    "error body": lambda: as_json(_OVERLOADED),
    "401": lambda: _failed(401, "invalid_api_key"),
    "402": lambda: _failed(402, "insufficient_quota"),
    "404": lambda: _failed(404, "model_not_found"),
    "413": lambda: _failed(413, "payload_too_large"),
    "429": lambda: _failed(429, "rate_limit_exceeded", retry_after="7"),
    "500": lambda: _failed(500, "server_error"),
    "too long": lambda: _failed(400, "context_length_exceeded"),
}


def _text(*pieces: str, index: int = 0) -> list[Part]:
    shown = [delta(index, "text", text=piece) for piece in pieces]
    return [block(index, "text", text=""), *shown]


def _spoken(*pieces: str, index: int = 0) -> list[Part]:
    return [*_text(*pieces, index=index), stop(index)]


def _thought(text: str, seal: str = "") -> list[Part]:
    shown = [delta(0, "thinking", thinking=text)]
    shown += [delta(0, "signature", signature=seal)] if seal else []
    return [block(0, "thinking", thinking="", signature=""), *shown, stop(0)]


def _searched(index: int) -> list[Part]:
    """Return a search that the service made, and what it found."""
    asked = block(index, "server_tool_use", id="srvtoolu_1", name="web_search", input={})
    query = [delta(index, "input_json", partial_json=p) for p in ('{"query": ', '"weather"}')]
    found = {"type": "web_search_result", "url": "https://x.example/", "encrypted_content": "U0U="}
    gave = {"tool_use_id": "srvtoolu_1", "content": [{**found, "title": "Rain", "page_age": None}]}
    result = block(index + 1, "web_search_tool_result", **gave)
    return [asked, *query, stop(index), result, stop(index + 1)]


def _used(index: int, call_id: str, *arguments: str) -> list[Part]:
    shown = [delta(index, "input_json", partial_json=piece) for piece in arguments]
    return [block(index, "tool_use", id=call_id, name="add", input={}), *shown, stop(index)]


def _message(*parts: Sequence[Part], reason: str = "end_turn") -> Reply:
    return stream([start()], *parts, end(reason))


def _broken(*parts: Sequence[Part]) -> Reply:
    return stream([start()], *parts)


def _refused(status: int, kind: str, message: str = "no", **headers: str) -> Reply:
    return as_json(error_body(kind, message), status, **headers)


_FULL = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
_PING = event("ping")
_TOO_LONG = "prompt is too long: 9 tokens > 8 maximum"

_ANTHROPIC: dict[str, Callable[[], Reply]] = {
    **ANYWHERE,
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
    # Here the cached tokens are not among those of the input.
    "usage": lambda: stream(
        [start(15, cache_read_input_tokens=5)],
        _spoken("Hi"),
        end(output_tokens=8, output_tokens_details={"thinking_tokens": 3}),
    ),
    "private": lambda: _message(
        _thought("hm", "U0VBTEVE"), _used(1, "c1", "{}"), _spoken("Hi", index=2), reason="tool_use"
    ),
    "hosted": lambda: _message(_searched(0), _spoken("It ", "rains.", index=2)),
    "talk around a search": lambda: _message(
        _spoken("Looking."), _searched(1), _spoken("It ", "rains.", index=3)
    ),
    "cut": lambda: _broken(_text("half", " an"), [Cut()]),
    "clean cut": lambda: closing(_broken(_text("half", " an"))),
    "cut before text": lambda: _broken([Cut()]),
    "cut after finish": lambda: _broken(_spoken("All."), end()[:1], [Cut()]),
    "stall": lambda: _broken(_text("half"), [Stall()]),
    "keep-alives": lambda: _broken(_text("half"), [_PING, Delay(0.05)] * 400),
    "flood": lambda: Reply(repeat(_PING)),
    "error inside": lambda: _broken(_text("half"), [_FULL]),
    "error at once": lambda: stream([_FULL]),
    "error body": lambda: _refused(200, "overloaded_error"),
    "401": lambda: _refused(401, "authentication_error"),
    "402": lambda: _refused(402, "billing_error"),
    "404": lambda: _refused(404, "not_found_error"),
    "413": lambda: _refused(413, "request_too_large"),
    "429": lambda: _refused(429, "rate_limit_error", retry_after="7"),
    "500": lambda: _refused(500, "api_error"),
    "too long": lambda: _refused(400, "invalid_request_error", _TOO_LONG),
}
