"""Chat Completions as its many services really speak it, through the SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import Dialect, Endpoint, NetworkFailed, Profile
from habakkuk.llm.providers.openai.adapter import build
from habakkuk.llm.types import (
    Finished,
    LlmRequest,
    Message,
    Role,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from tests.fakes.model_script import DONE, Part, Reply, chunk, sse, usage_chunk
from tests.fakes.model_server import ModelServer

CALL = ToolCall(id="call_1", name="add", input={})


def user(text: str) -> Message:
    return Message(Role.USER, (Text(text=text),))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def ask(
    server: ModelServer, *parts: Part, messages: tuple[Message, ...] = (user("hello"),), **kind: Any
) -> Finished:
    """Answer with these parts and return the end of the provider's stream."""
    if parts:
        server.script = lambda _: Reply(parts, **kind)
    provider = build(Endpoint("mine", server.base_url, "k"))
    try:
        *_, last = provider.stream("m", LlmRequest("", messages), Profile(), Interrupt())
    finally:
        provider.close()
    assert isinstance(last, Finished)
    return last


def test_the_body_on_the_wire(server: ModelServer) -> None:
    ask(server)
    assert server.requests[0].body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert server.requests[0].path == "/v1/chat/completions"


def test_a_whole_completion_in_place_of_a_stream(server: ModelServer) -> None:
    completion = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 4, "completion_tokens": 2},
    }
    finished = ask(
        server, json.dumps(completion, indent=1).encode(), content_type="application/json"
    )
    assert finished.blocks == (Text(text="Hi"),)
    assert finished.usage == Usage(input=4, output=2)


def test_comments_names_and_crlf(server: ModelServer) -> None:
    hello = chunk({"content": "Hi"}).replace(b"\n", b"\r\n")
    parts = (b": OPENROUTER PROCESSING\n\n", b"event: message\r\n" + hello, chunk({}, "stop"), DONE)
    assert ask(server, *parts).blocks == (Text(text="Hi"),)


def test_events_cut_anywhere_in_the_bytes(server: ModelServer) -> None:
    whole = chunk({"content": "größer"}) + chunk({}, "stop") + DONE
    parts = [whole[i : i + 7] for i in range(0, len(whole), 7)]
    assert ask(server, *parts).blocks == (Text(text="größer"),)


@pytest.mark.parametrize(
    "odd",
    [
        sse({"choices": []}),
        sse({"choices": None, "usage": None}),
        sse({"object": "ping"}),
        sse([]),
        sse("not json"),
        sse(""),
        sse(None),
        sse({"choices": [{"delta": {"content": None, "tool_calls": None}, "finish_reason": None}]}),
        sse({"choices": [{"delta": None}]}),
        sse({"id": 7, "created": "yesterday", "choices": [{"index": 0, "delta": {}}]}),
        sse({"error": None, "choices": []}),
    ],
)
def test_odd_events_change_nothing(server: ModelServer, odd: bytes) -> None:
    finished = ask(server, odd, chunk({"content": "Hi"}), odd, chunk({}, "stop"), odd, DONE)
    assert finished.blocks == (Text(text="Hi"),)
    assert finished.stop is StopReason.END


def test_done_without_a_finish_reason_is_an_end(server: ModelServer) -> None:
    finished = ask(server, chunk({"content": "Hi"}), DONE)
    assert (finished.stop, finished.blocks) == (StopReason.END, (Text(text="Hi"),))


def test_a_finish_reason_without_done_is_an_end(server: ModelServer) -> None:
    finished = ask(server, chunk({"content": "Hi"}), chunk({}, "stop"), usage_chunk(5, 1))
    assert (finished.stop, finished.usage) == (StopReason.END, Usage(input=5, output=1))


def test_done_alone_is_no_answer(server: ModelServer) -> None:
    with pytest.raises(NetworkFailed, match="empty"):
        ask(server, DONE)


def test_an_error_event_after_a_whole_answer_does_not_take_it_back(server: ModelServer) -> None:
    late = sse({"error": {"message": "could not count"}})
    assert ask(server, chunk({"content": "Hi"}), chunk({}, "stop"), late).stop is StopReason.END


def test_usage_before_a_cut_is_kept_for_the_books(server: ModelServer) -> None:
    with pytest.raises(NetworkFailed) as caught:
        ask(server, chunk({"content": "Hi"}, usage={"prompt_tokens": 8, "completion_tokens": 1}))
    assert caught.value.usage == Usage(input=8, output=1)


def test_a_tail_in_a_later_packet_still_lets_the_line_be_reused(server: ModelServer) -> None:
    server.script = lambda _: Reply(
        [chunk({"content": "Hi"}), chunk({}, "stop"), DONE, b": bye\n\n"]
    )
    provider = build(Endpoint("mine", server.base_url, "k"))
    for _ in range(3):
        list(provider.stream("m", LlmRequest("", (user("x"),)), Profile(), Interrupt()))
    provider.close()
    assert server.connections == 1


def test_a_reply_that_ends_with_its_connection(server: ModelServer) -> None:
    parts = (chunk({"content": "Hi"}), chunk({}, "stop"), DONE)
    assert ask(server, *parts, framing="close").blocks == (Text(text="Hi"),)


def test_an_id_of_an_earlier_step_is_replaced(server: ModelServer) -> None:
    again = {"index": 0, "id": "call_1", "function": {"name": "add", "arguments": "{}"}}
    messages = (
        user("x"),
        Message(Role.ASSISTANT, (CALL,)),
        Message(Role.USER, (ToolResult(call_id="call_1", text="2"),)),
    )
    (block,) = ask(
        server, chunk({"tool_calls": [again]}, "tool_calls"), DONE, messages=messages
    ).blocks
    assert isinstance(block, ToolCall)
    assert block.id not in ("", "call_1")


def test_short_ids_make_a_valid_transcript(server: ModelServer) -> None:
    endpoint = Endpoint("mine", server.base_url, "k", dialect=Dialect(call_id_length=9))
    messages = (
        user("x"),
        Message(Role.ASSISTANT, (CALL, CALL.model_copy(update={"id": "call_2"}))),
        Message(
            Role.USER,
            (ToolResult(call_id="call_1", text="2"), ToolResult(call_id="call_2", text="3")),
        ),
    )
    provider = build(endpoint)
    list(provider.stream("m", LlmRequest("", messages), Profile(), Interrupt()))
    provider.close()
    assert server.violations == []
