"""Anthropic Messages through the SDK: signatures, whole conversations, odd streams, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from habakkuk.core.errors import LlmError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    ContextOverflow,
    Endpoint,
    ModelMissing,
    NetworkFailed,
    Overloaded,
    Profile,
    RateLimited,
    RequestTooLarge,
)
from habakkuk.llm.providers.anthropic.adapter import build
from habakkuk.llm.types import (
    Block,
    Finished,
    LlmRequest,
    Message,
    Role,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    blocks_from_json,
    blocks_to_json,
)
from tests.fakes.model_messages import block, delta, end, error_body, event, start, stop
from tests.fakes.model_script import Part, Reply, sse
from tests.fakes.model_server import ModelServer

ADD = ToolSpec("add", "Adds.", {"type": "object"})
HI = (block(0, "text", text=""), delta(0, "text", text="Hi"), stop(0))


def user(*blocks: Block) -> Message:
    return Message(Role.USER, blocks)


def said(text: str) -> Message:
    return user(Text(text=text))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def ask(
    server: ModelServer,
    *parts: Part,
    messages: tuple[Message, ...] = (said("hello"),),
    model: str = "m",
    **kind: Any,
) -> Finished:
    """Answer with these parts, or as the fake does, and return the end of the stream."""
    if parts:
        server.script = lambda _: Reply(parts, **kind)
    provider = build(Endpoint("mine", server.base_url, "k"))
    request = LlmRequest("Be brief.", messages, tools=(ADD,))
    try:
        *_, last = provider.stream(model, request, Profile(), Interrupt())
    finally:
        provider.close()
    assert isinstance(last, Finished)
    return last


def test_the_body_and_the_headers_on_the_wire(server: ModelServer) -> None:
    ask(server)
    sent = server.requests[0]
    assert sent.path == "/v1/messages"
    assert sent.headers["authorization"] == "Bearer k"
    assert sent.headers["anthropic-version"]
    cached = {"type": "ephemeral"}
    tool = {"name": "add", "description": "Adds.", "input_schema": {"type": "object"}}
    hello = {"type": "text", "text": "hello", "cache_control": cached}
    assert sent.body == {
        "model": "m",
        "stream": True,
        "max_tokens": 8192,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": cached}],
        "tools": [{**tool, "cache_control": cached}],
        "messages": [{"role": "user", "content": [hello]}],
    }


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_the_address_may_be_written_with_or_without_its_version(
    server: ModelServer, suffix: str
) -> None:
    url = server.base_url.removesuffix("/v1") + suffix
    provider = build(Endpoint("mine", url, "k"))
    list(provider.stream("m", LlmRequest("", (said("x"),)), Profile(), Interrupt()))
    provider.close()
    assert [request.path for request in server.requests] == ["/v1/messages"]


# Signatures. The fake refuses thinking that is not as it and this model signed it.


def thoughtful(server: ModelServer, model: str = "m") -> tuple[Message, ...]:
    """Return a stored conversation with a signed block, a call and its result."""
    asked = said("[[think hm 😀 ]] [[tool add {}]] go")
    first = ask(server, messages=(asked,), model=model)
    stored = json.loads(json.dumps(blocks_to_json(first.blocks)))
    blocks = blocks_from_json(stored)
    (call,) = (b for b in blocks if isinstance(b, ToolCall))
    return (asked, Message(Role.ASSISTANT, blocks), user(ToolResult(call_id=call.id, text="2")))


def test_signed_thinking_survives_the_store_and_is_taken_back(server: ModelServer) -> None:
    talk = thoughtful(server)
    assert isinstance(talk[1].blocks[0], Thinking)
    finished = ask(server, messages=talk)
    assert finished.blocks[-1] == Text(text="results: 2")
    assert len(server.requests) == 2
    assert server.requests[1].body["messages"][1]["content"][0]["type"] == "thinking"
    assert server.violations == []


def test_refused_thinking_is_left_out_in_one_more_request(server: ModelServer) -> None:
    asked, answer, result = thoughtful(server)
    changed = answer.blocks[0].model_copy(update={"text": "something else"})
    talk = (asked, Message(Role.ASSISTANT, (changed, *answer.blocks[1:])), result)
    finished = ask(server, messages=talk)
    assert finished.blocks[-1] == Text(text="results: 2")
    assert len(server.requests) == 3
    assert "thinking" not in json.dumps(server.requests[2].body["messages"][1])
    assert server.violations == []


def test_thinking_of_another_model_is_not_even_tried(server: ModelServer) -> None:
    talk = thoughtful(server, model="one")
    ask(server, messages=talk, model="two")
    assert len(server.requests) == 2
    assert "signature" not in json.dumps(server.requests[1].body["messages"][1])


def test_a_second_refusal_is_told(server: ModelServer) -> None:
    talk = thoughtful(server)
    refused = error_body("invalid_request_error", "Invalid `signature` in `thinking` block")
    with pytest.raises(BadRequest, match="signature"):
        ask(server, json.dumps(refused).encode(), messages=talk, status=400)
    assert len(server.requests) == 3


def test_another_bad_request_is_not_repeated(server: ModelServer) -> None:
    talk = thoughtful(server)
    refused = error_body("invalid_request_error", "max_tokens: too large")
    with pytest.raises(BadRequest, match="max_tokens"):
        ask(server, json.dumps(refused).encode(), messages=talk, status=400)
    assert len(server.requests) == 2


# Streams.


def test_events_cut_anywhere_in_the_bytes(server: ModelServer) -> None:
    whole = b"".join([start(), *HI, *end()])
    parts = [whole[i : i + 7] for i in range(0, len(whole), 7)]
    assert ask(server, *parts).blocks == (Text(text="Hi"),)


def test_events_without_names(server: ModelServer) -> None:
    whole = b"".join([start(), *HI, *end()])
    lines = [line + b"\n\n" for line in whole.split(b"\n") if line.startswith(b"data:")]
    assert ask(server, *lines).blocks == (Text(text="Hi"),)


def test_a_whole_message_in_place_of_a_stream(server: ModelServer) -> None:
    content = [{"type": "text", "text": "Hi"}]
    usage = {"input_tokens": 4, "output_tokens": 2}
    whole = {"type": "message", "content": content, "stop_reason": "end_turn", "usage": usage}
    finished = ask(server, json.dumps(whole, indent=1).encode(), content_type="application/json")
    assert (finished.blocks, finished.usage) == ((Text(text="Hi"),), Usage(4, 2))


def test_message_stop_without_a_reason_is_an_end(server: ModelServer) -> None:
    finished = ask(server, start(), *HI, event("message_stop"))
    assert (finished.stop, finished.blocks) == (StopReason.END, (Text(text="Hi"),))


def test_message_stop_alone_is_no_answer(server: ModelServer) -> None:
    with pytest.raises(NetworkFailed, match="empty"):
        ask(server, event("message_stop"))


def test_an_error_after_a_whole_answer_does_not_take_it_back(server: ModelServer) -> None:
    late = event("error", error={"type": "api_error", "message": "could not count"})
    assert ask(server, start(), *HI, end()[0], late).stop is StopReason.END


def test_usage_before_a_cut_is_kept_for_the_books(server: ModelServer) -> None:
    with pytest.raises(NetworkFailed) as caught:
        ask(server, start(8, cache_read_input_tokens=2), *HI)
    assert caught.value.usage == Usage(input=10, output=1, cache_read=2)


# Errors, by the documented type and code.


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (529, "overloaded_error", "Overloaded", Overloaded),
        (504, "timeout_error", "timed out", Overloaded),
        (403, "permission_error", "no", AuthFailed),
        (413, "invalid_request_error", "too many bytes", RequestTooLarge),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 9 > 8",
            ContextOverflow,
        ),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API",
            BillingFailed,
        ),
        (400, "invalid_request_error", "tools.0: bad", BadRequest),
    ],
)
def test_errors_have_their_class(
    server: ModelServer, status: int, kind: str, message: str, expected: type[LlmError]
) -> None:
    with pytest.raises(expected):
        ask(server, json.dumps(error_body(kind, message)).encode(), status=status)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("contract_spend_limit_reached", BillingFailed),
        ("organization_on_hold", AuthFailed),
        ("ramp_limit_exceeded", RateLimited),
    ],
)
def test_the_code_inside_says_more_than_the_type(
    server: ModelServer, code: str, expected: type[LlmError]
) -> None:
    refused = error_body("rate_limit_error", "no", error_code=code)
    with pytest.raises(expected):
        ask(server, json.dumps(refused).encode(), status=429)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", Overloaded),
        ("api_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("not_found_error", ModelMissing),
        ("invalid_request_error", BadRequest),
    ],
)
def test_errors_inside_a_200_have_their_class(
    server: ModelServer, kind: str, expected: type[LlmError]
) -> None:
    with pytest.raises(expected):
        ask(server, start(), event("error", error={"type": kind, "message": "no"}))


def test_an_error_without_an_event_name_is_one_too(server: ModelServer) -> None:
    with pytest.raises(Overloaded):
        ask(server, start(), sse(error_body("overloaded_error", "Overloaded")))


def test_an_event_named_error_is_one_whatever_it_holds(server: ModelServer) -> None:
    with pytest.raises(Overloaded, match="out of order"):
        ask(server, start(), event("error", message="out of order"))


# The fake speaks both formats alike.


def test_the_fake_asks_for_tools_step_by_step(server: ModelServer) -> None:
    asked = said('[[tool add {"x": [[1]]}]] [[tool add {}]] [[next]] [[tool sub {}]] go')
    first = ask(server, messages=(asked,))
    a, b = first.blocks
    assert isinstance(a, ToolCall)
    assert isinstance(b, ToolCall)
    assert a.input == {"x": [[1]]}
    results = user(ToolResult(call_id=a.id, text="1"), ToolResult(call_id=b.id, text="2"))
    talk = (asked, Message(Role.ASSISTANT, first.blocks), results)
    second = ask(server, messages=talk)
    (c,) = second.blocks
    assert isinstance(c, ToolCall)
    ended = (Message(Role.ASSISTANT, second.blocks), user(ToolResult(call_id=c.id, text="3")))
    last = ask(server, messages=(*talk, *ended))
    assert last.blocks == (Text(text="results: 1 | 2 | 3"),)
    assert server.violations == []


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("[[cut 2]]", NetworkFailed),
        ("[[error-in-200 1]]", Overloaded),
        ("[[json-error]]", Overloaded),
        ("[[status 529]]", Overloaded),
        ("[[status 429 retry-after=3]]", RateLimited),
    ],
)
def test_the_fakes_directives(
    server: ModelServer, directive: str, expected: type[LlmError]
) -> None:
    with pytest.raises(expected):
        ask(server, messages=(said(f"{directive} hello"),))
