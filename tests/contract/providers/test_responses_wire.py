"""OpenAI Responses through the SDK: items that go back, odd streams, errors inside a 200."""

from __future__ import annotations

import base64
import json

import pytest

from habakkuk.core.errors import LlmError
from habakkuk.llm.contract import (
    ContextOverflow,
    Dialect,
    NetworkFailed,
    Overloaded,
    Profile,
    RateLimited,
    Refused,
    RequestTooLarge,
)
from habakkuk.llm.providers.responses.adapter import build
from habakkuk.llm.types import (
    Media,
    Message,
    Payload,
    Role,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from tests.contract.providers.asking import ADD, Asking, request, said, user
from tests.fakes.model_responses import (
    added,
    call,
    called,
    counted,
    done,
    end,
    event,
    failed,
    incomplete,
    message,
    piece,
    response,
    searched,
    spoken,
    start,
)
from tests.fakes.model_script import Part, sse
from tests.fakes.model_server import ModelServer

THINKER = Profile(efforts=("low", "high"), hosted_web=True)
HI = spoken("Hi")
WIRE = Asking(build, (*start(), *HI, *end()))
ask, body = WIRE.ask, WIRE.body


# Requests.


def test_the_body_and_the_address_on_the_wire(server: ModelServer) -> None:
    assert body(server, request(tools=(ADD,))) == {
        "model": "m",
        "stream": True,
        "store": False,
        "instructions": "Be brief.",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "hello"}],
            }
        ],
        "tools": [
            {
                "type": "function",
                "name": "add",
                "description": "Adds.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
    }
    assert server.requests[0].path == "/v1/responses"
    assert server.requests[0].headers["authorization"] == "Bearer k"


def test_what_only_models_that_reason_take(server: ModelServer) -> None:
    sent = body(server, request(effort="high"), profile=THINKER)
    assert sent["reasoning"] == {"effort": "high", "summary": "auto"}
    assert sent["include"] == ["reasoning.encrypted_content"]


def test_limits_and_the_cache_key(server: ModelServer) -> None:
    asked = request(max_tokens=50, cache_key="session-1")
    sent = body(server, asked, profile=Profile(max_tokens=200), dialect=Dialect(cache_key=True))
    assert (sent["max_output_tokens"], sent["prompt_cache_key"]) == (50, "session-1")


def test_a_call_and_its_result_have_the_documented_shape(server: ModelServer) -> None:
    call_1 = ToolCall(id="call_1", name="add", input={"b": 2, "a": 1})
    talk = (
        said("1+1?"),
        Message(Role.ASSISTANT, (Text(text="Let me see."), call_1)),
        user(ToolResult(call_id="call_1", text="2"), Text(text="and hurry")),
    )
    assert body(server, request(*talk))["input"][1:] == [
        {"type": "message", "role": "assistant", "content": "Let me see."},
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "add",
            "arguments": '{"a":1,"b":2}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "2"},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "and hurry"}],
        },
    ]


def test_files_have_the_documented_shape(server: ModelServer) -> None:
    files = {"i": Payload("image/png", b"png"), "p": Payload("application/pdf", b"pdf")}
    blocks = (
        Media(blob="i", mime="image/png"),
        Media(blob="p", mime="application/pdf", name="a.pdf"),
    )
    image, paper = (base64.b64encode(data).decode() for data in (b"png", b"pdf"))
    assert body(server, request(user(*blocks), payloads=files))["input"][0]["content"] == [
        {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{image}"},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": f"data:application/pdf;base64,{paper}",
        },
    ]


def test_hosted_search_stands_before_the_functions(server: ModelServer) -> None:
    sent = body(server, request(tools=(ADD,), web=True), profile=THINKER)
    assert [tool["type"] for tool in sent["tools"]] == ["web_search", "function"]


@pytest.mark.parametrize(
    ("efforts", "offered"), [(("minimal", "low"), False), (("none", "low"), True)]
)
def test_search_is_left_out_at_the_effort_at_which_openai_refuses_it(
    server: ModelServer, efforts: tuple[str, ...], offered: bool
) -> None:
    """GPT-5 has no "none" but "minimal", with which it does not search; later models do search."""
    profile = Profile(efforts=efforts, hosted_web=True)
    sent = body(server, request(tools=(ADD,), web=True, effort="none"), profile=profile)
    assert sent["reasoning"]["effort"] == efforts[0]
    assert [tool["type"] for tool in sent["tools"]] == [*(["web_search"] * offered), "function"]


def test_at_openai_an_answer_may_search_ten_times(server: ModelServer) -> None:
    """Others may not know the limit, and refuse it."""
    own, searching = Dialect(own_rules=True), request(web=True)
    assert body(server, searching, profile=THINKER, dialect=own)["max_tool_calls"] == 10
    assert "max_tool_calls" not in body(server, searching, profile=THINKER)
    asked = request(tools=(ADD,))
    assert "max_tool_calls" not in body(server, asked, profile=THINKER, dialect=own)


# Streams.


def test_a_whole_answer_in_place_of_a_stream(server: ModelServer) -> None:
    output = [message("Hi"), call("c1", '{"a": 1}', 1)]
    whole = response("completed", output, usage=counted(4, 2))
    finished = ask(server, json.dumps(whole, indent=1).encode(), content_type="application/json")
    assert finished.blocks == (Text(text="Hi"), ToolCall(id="c1", name="add", input={"a": 1}))
    assert finished.usage == Usage(4, 2)


def test_a_last_event_that_holds_what_no_other_did(server: ModelServer) -> None:
    assert ask(server, *start(), *end([message("Hi")])).blocks == (Text(text="Hi"),)


def test_a_last_event_that_repeats_everything(server: ModelServer) -> None:
    output = [message("Hi"), call("c1", "{}", 1)]
    finished = ask(server, *start(), *HI, *called("c1", "{}", index=1), *end(output))
    assert finished.blocks == (Text(text="Hi"), ToolCall(id="c1", name="add", input={}))


def test_events_without_names(server: ModelServer) -> None:
    whole = b"".join([*start(), *HI, *end()])
    lines = [line + b"\n\n" for line in whole.split(b"\n") if line.startswith(b"data:")]
    assert ask(server, *lines).blocks == (Text(text="Hi"),)


def test_events_cut_anywhere_in_the_bytes(server: ModelServer) -> None:
    whole = b"".join([*start(), *spoken("größer"), *end()])
    parts = [whole[i : i + 7] for i in range(0, len(whole), 7)]
    assert ask(server, *parts).blocks == (Text(text="größer"),)


@pytest.mark.parametrize(
    "odd",
    [
        sse("[DONE]"),
        sse([]),
        sse("not json"),
        event("response.queued", response=None),
        event("response.new_kind.delta", delta={"deep": 1}),
        event("response.output_item.added", item=None),
        event("response.output_text.annotation.added", annotation={"type": "url_citation"}),
        event("response.web_search_call.searching", item_id="ws_1", output_index=0),
        event("response.output_text.delta", delta=None),
        event("keepalive", sequence_number=3),
    ],
)
def test_odd_events_change_nothing(server: ModelServer, odd: bytes) -> None:
    finished = ask(server, odd, *start(), odd, *HI, odd, *end(), odd)
    assert finished.blocks == (Text(text="Hi"),)
    assert (finished.stop, finished.notices) == (StopReason.END, ())


def test_a_refusal_in_words_is_one(server: ModelServer) -> None:
    words = "I cannot help with that."
    finished = ask(server, *start(), added(message("")), piece("refusal", words), *end())
    assert (finished.stop, finished.blocks) == (StopReason.REFUSAL, (Text(text=words),))


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("max_output_tokens", StopReason.LENGTH),
        ("content_filter", StopReason.REFUSAL),
        ("max_messages", StopReason.UNKNOWN),
    ],
)
def test_why_an_answer_is_not_whole(server: ModelServer, reason: str, stop: StopReason) -> None:
    finished = ask(server, *start(), *HI, *incomplete(reason))
    assert finished.stop is stop
    assert finished.blocks[0] == Text(text="Hi")


def test_an_answer_without_a_last_event_is_none(server: ModelServer) -> None:
    with pytest.raises(NetworkFailed, match="ended before"):
        ask(server, *start(), *HI, sse("[DONE]"))


def test_usage_has_cached_written_and_reasoning_tokens(server: ModelServer) -> None:
    usage = counted(20, 8, cached=5, reasoning=3, cache_write_tokens=2)
    finished = ask(server, *start(), *HI, *end(usage=usage))
    assert finished.usage == Usage(20, 8, cache_read=5, cache_write=2, reasoning=3)


def test_searches_are_counted_and_leave_the_length_unknown(server: ModelServer) -> None:
    """What they read is in the usage, and is not sent again."""
    found = [part for index in (0, 1) for part in looked_up(index)]
    usage = counted(9000, 8)
    finished = ask(server, *start(), *found, *spoken("Rain.", index=2), *end(usage=usage))
    assert finished.usage == Usage(9000, 8, searches=2, window=0)


def test_to_open_a_page_is_no_search(server: ModelServer) -> None:
    """OpenAI takes money for searches alone."""
    opened = looked_up(1, {"type": "open_page", "url": "https://x.example/"})
    finished = ask(server, *start(), *looked_up(0), *opened, *spoken("Rain.", index=2), *end())
    assert (finished.usage.searches, finished.usage.window) == (1, 0)


def looked_up(index: int, action: dict[str, str] | None = None) -> list[Part]:
    item = searched("weather", index)
    item["action"] = action or item["action"]
    return [added(item, index), done(item, index)]


# Errors inside a 200.


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("server_error", Overloaded),
        ("rate_limit_exceeded", RateLimited),
        ("context_length_exceeded", ContextOverflow),
        ("invalid_prompt", Refused),
        ("bio_policy", Refused),
        ("image_too_large", RequestTooLarge),
        ("image_parse_error", RequestTooLarge),
    ],
)
@pytest.mark.parametrize("shape", ["failed", "error"])
def test_errors_inside_a_200_have_their_class(
    server: ModelServer, code: str, expected: type[LlmError], shape: str
) -> None:
    told = {
        "failed": failed(code),
        "error": event("error", code=code, message="no", param=None, sequence_number=2),
    }
    with pytest.raises(expected):
        ask(server, *start(), told[shape])


def test_an_answer_that_was_cancelled_there_is_a_failure(server: ModelServer) -> None:
    cancelled = event("response.cancelled", response=response("cancelled"))
    with pytest.raises(Overloaded):
        ask(server, *start(), *HI, cancelled)


def test_a_whole_answer_that_failed_is_a_failure(server: ModelServer) -> None:
    whole = response("failed", error={"code": "rate_limit_exceeded", "message": "slow down"})
    with pytest.raises(RateLimited):
        ask(server, json.dumps(whole).encode(), content_type="application/json")
