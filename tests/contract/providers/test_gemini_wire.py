"""Gemini's generateContent: signatures, thinking, hosted tools, odd streams, errors."""

from __future__ import annotations

import base64
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
    Overloaded,
    Profile,
    RateLimited,
    Refused,
    RequestTooLarge,
)
from habakkuk.llm.providers.gemini.adapter import build
from habakkuk.llm.types import (
    Media,
    Message,
    Opaque,
    Payload,
    Role,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from tests.contract.providers.asking import ADD, Asking, request, said, user
from tests.fakes.model_gemini import (
    as_bytes,
    call,
    chunk,
    end,
    error_body,
    error_info,
    retry_info,
    text,
)
from tests.fakes.model_script import Reply, sse
from tests.fakes.model_server import ModelServer

WIRE = Asking(build, end(text("Hi")))
ask, body = WIRE.ask, WIRE.body
LEVEL = Profile(thinking="level", efforts=("minimal", "low", "high"), hosted_web=True)
BUDGET = Profile(thinking="budget", efforts=("none", "low", "medium", "high"), hosted_web=True)
SIGNED = {"thoughtSignature": "c2lnbmVk"}
UNSIGNED = "skip_thought_signature_validator"


# Requests.


def test_the_body_the_address_and_the_key_on_the_wire(server: ModelServer) -> None:
    assert body(server, request(tools=(ADD,), max_tokens=50)) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "add",
                        "description": "Adds.",
                        "parametersJsonSchema": {"type": "object"},
                    }
                ]
            }
        ],
        "generationConfig": {"maxOutputTokens": 50},
    }
    sent = server.requests[0]
    assert sent.path == "/v1/models/m:streamGenerateContent?alt=sse"
    assert sent.headers["x-goog-api-key"] == "k"
    assert "authorization" not in sent.headers


@pytest.mark.parametrize(
    ("suffix", "version"), [("", "v1"), ("/", "v1"), ("/v1beta", "v1beta"), ("/v1beta/", "v1beta")]
)
def test_the_address_may_be_written_with_or_without_its_version(
    server: ModelServer, suffix: str, version: str
) -> None:
    server.script = lambda _: Reply(end(text("Hi")))
    provider = build(Endpoint("mine", server.base_url.removesuffix("/v1") + suffix, "k"))
    list(provider.stream("m", request(), Profile(), Interrupt()))
    provider.close()
    assert server.requests[0].path == f"/{version}/models/m:streamGenerateContent?alt=sse"


def test_the_environment_does_not_turn_it_elsewhere(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "of-somebody")
    monkeypatch.setenv("GOOGLE_API_KEY", "of-somebody")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v9")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    body(server)
    sent = server.requests[0]
    assert sent.path == "/v1/models/m:streamGenerateContent?alt=sse"
    assert "of-somebody" not in str(sent.headers)


@pytest.mark.parametrize(
    ("profile", "effort", "expected"),
    [
        (LEVEL, None, {"includeThoughts": True}),
        (LEVEL, "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        (LEVEL, "none", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}),
        (BUDGET, "medium", {"includeThoughts": True, "thinkingBudget": 8192}),
        # Thoughts may not be asked for where thinking is off.
        (BUDGET, "none", {"thinkingBudget": 0}),
    ],
)
def test_thinking_is_a_budget_or_a_level(
    server: ModelServer, profile: Profile, effort: str | None, expected: dict[str, Any]
) -> None:
    sent = body(server, request(effort=effort), profile=profile)
    assert sent["generationConfig"]["thinkingConfig"] == expected


def test_a_model_that_does_not_think_is_not_asked_to(server: ModelServer) -> None:
    assert "generationConfig" not in body(server, request(effort="high"))


def test_a_call_and_its_results_have_the_documented_shape(server: ModelServer) -> None:
    add, sub = (ToolCall(id=i, name=i, input={"a": 1}) for i in ("add", "sub"))
    conversation = (
        said("1+1?"),
        Message(Role.ASSISTANT, (Text(text="Let me see."), add, sub)),
        user(
            ToolResult(call_id="add", text="2"),
            ToolResult(call_id="sub", text="no such tool", is_error=True),
            Text(text="and hurry"),
        ),
    )
    assert body(server, request(*conversation), profile=BUDGET)["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"id": "add", "name": "add", "args": {"a": 1}}},
                {"functionCall": {"id": "sub", "name": "sub", "args": {"a": 1}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "add", "name": "add", "response": {"output": "2"}}},
                {
                    "functionResponse": {
                        "id": "sub",
                        "name": "sub",
                        "response": {"error": "no such tool"},
                    }
                },
            ],
        },
        {"role": "user", "parts": [{"text": "and hurry"}]},
    ]


def test_files_have_the_documented_shape(server: ModelServer) -> None:
    files = {"i": Payload("image/png", b"png")}
    sent = body(server, request(user(Media(blob="i", mime="image/png")), payloads=files))
    data = base64.b64encode(b"png").decode()
    assert sent["contents"][0]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": data}}]


def test_a_conversation_that_begins_and_ends_with_an_answer(server: ModelServer) -> None:
    sent = body(server, request(Message(Role.ASSISTANT, (Text(text="Hi"),))))
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]


# Hosted tools.


def test_hosted_tools_stand_beside_functions_where_the_model_can_mix(server: ModelServer) -> None:
    sent = body(server, request(tools=(ADD,), web=True), profile=LEVEL)
    names = [name for tool in sent["tools"] for name in tool]
    assert names == ["googleSearch", "urlContext", "functionDeclarations"]
    assert sent["toolConfig"] == {"includeServerSideToolInvocations": True}


def test_older_models_keep_their_functions_and_do_not_search(server: ModelServer) -> None:
    sent = body(server, request(tools=(ADD,), web=True), profile=BUDGET)
    assert [name for tool in sent["tools"] for name in tool] == ["functionDeclarations"]
    assert "toolConfig" not in sent


def test_older_models_search_where_there_are_no_functions(server: ModelServer) -> None:
    sent = body(server, request(web=True), profile=BUDGET)
    assert [name for tool in sent["tools"] for name in tool] == ["googleSearch", "urlContext"]


# Streams.


def test_a_whole_answer_in_place_of_a_stream(server: ModelServer) -> None:
    whole = {
        "candidates": [{"content": {"parts": [text("Hi")]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2},
    }
    finished = ask(server, as_bytes(whole), content_type="application/json")
    assert (finished.blocks, finished.usage) == ((Text(text="Hi"),), Usage(4, 2))


def test_usage_has_thoughts_and_what_tools_read(server: ModelServer) -> None:
    counts = {
        "promptTokenCount": 20,
        "toolUsePromptTokenCount": 4,
        "cachedContentTokenCount": 5,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 3,
    }
    finished = ask(server, chunk(text("Hi"), finish="STOP", usageMetadata=counts))
    assert finished.usage == Usage(input=24, output=5, cache_read=5, reasoning=3, window=25)


COUNTS = {"promptTokenCount": 20, "toolUsePromptTokenCount": 400, "candidatesTokenCount": 2}
LOOKED_UP = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1"}}


def test_a_grounded_answer_has_searched_and_what_it_read_is_gone(server: ModelServer) -> None:
    last = chunk(
        text("Rain."),
        finish="STOP",
        usageMetadata=COUNTS,
        candidate={"groundingMetadata": {"webSearchQueries": ["weather"]}},
    )
    assert ask(server, last).usage == Usage(420, 2, searches=1, window=22)


def test_searches_that_go_back_are_counted_with_what_they_gave(server: ModelServer) -> None:
    gave = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1", "response": {}}}
    last = chunk(text("Rain."), finish="STOP", usageMetadata=COUNTS)
    finished = ask(server, chunk(LOOKED_UP, gave), chunk(LOOKED_UP, gave), last)
    assert finished.usage == Usage(420, 2, searches=2)


def test_an_answer_with_empty_grounding_has_not_searched(server: ModelServer) -> None:
    last = chunk(text("Hi"), finish="STOP", candidate={"groundingMetadata": {}})
    assert ask(server, last).usage.searches == 0


def test_calls_of_one_name_without_ids_are_two(server: ModelServer) -> None:
    finished = ask(server, *end(call(None, {"a": 1}), call(None, {"a": 2})))
    calls = [block for block in finished.blocks if isinstance(block, ToolCall)]
    assert [one.input for one in calls] == [{"a": 1}, {"a": 2}]
    assert len({one.id for one in calls}) == 2


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", StopReason.END),
        ("MAX_TOKENS", StopReason.LENGTH),
        ("CONTINUATION", StopReason.LENGTH),
        ("SAFETY", StopReason.REFUSAL),
        ("RECITATION", StopReason.REFUSAL),
        ("PROHIBITED_CONTENT", StopReason.REFUSAL),
        ("SPII", StopReason.REFUSAL),
        ("BLOCKLIST", StopReason.REFUSAL),
        ("LANGUAGE", StopReason.REFUSAL),
        ("OTHER", StopReason.UNKNOWN),
        ("MALFORMED_FUNCTION_CALL", StopReason.UNKNOWN),
    ],
)
def test_the_documented_reasons_to_stop(server: ModelServer, reason: str, stop: StopReason) -> None:
    finished = ask(server, *end(text("Hi"), reason=reason))
    assert (finished.stop, finished.blocks) == (stop, (Text(text="Hi"),))


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_calls_of_an_answer_that_google_could_not_read_are_not_run(
    server: ModelServer, reason: str
) -> None:
    (block,) = ask(server, *end(call("c1", {"a": 1}), reason=reason)).blocks
    assert isinstance(block, ToolCall)
    assert block.fault
    assert block.input == {}


def test_a_blocked_prompt_is_refused(server: ModelServer) -> None:
    blocked = sse({"promptFeedback": {"blockReason": "OTHER"}})
    with pytest.raises(Refused, match="OTHER"):
        ask(server, blocked)


def test_what_was_found_is_kept_in_its_place(server: ModelServer) -> None:
    searched = {"toolCall": {"toolType": "GOOGLE_SEARCH", "id": "s1"}, **SIGNED}
    finished = ask(server, chunk(text("Well.")), chunk(searched), *end(text("It rains.")))
    assert finished.blocks == (
        Text(text="Well."),
        Opaque(provider="mine", model="m", data=searched),
        Text(text="\n\nIt rains."),
    )


@pytest.mark.parametrize(
    "odd",
    [
        sse({"candidates": []}),
        sse({"candidates": None}),
        sse({"candidates": [{"index": 0}]}),
        sse({"candidates": [{"content": None}]}),
        sse({"candidates": [{"content": {"parts": None}}]}),
        sse({"candidates": [{"content": {"parts": [{"text": ""}]}}]}),
        sse({"candidates": [{"index": 1, "content": {"parts": [{"text": "another"}]}}]}),
        sse({"promptFeedback": {"safetyRatings": []}}),
        sse({"usageMetadata": "many"}),
        sse([]),
        sse("not json"),
    ],
)
def test_odd_chunks_change_nothing(server: ModelServer, odd: bytes) -> None:
    finished = ask(server, odd, chunk(text("Hi")), odd, *end(), odd)
    assert finished.blocks == (Text(text="Hi"),)
    assert (finished.stop, finished.notices) == (StopReason.END, ())


def test_a_part_of_an_unknown_kind_is_told(server: ModelServer) -> None:
    finished = ask(server, *end(text("Hi"), {"newKind": {"x": 1}}))
    assert finished.blocks == (Text(text="Hi"),)
    assert any("newKind" in notice for notice in finished.notices)


# Errors, by the documented status and reason.


@pytest.mark.parametrize(
    ("code", "status", "message", "expected"),
    [
        (400, "INVALID_ARGUMENT", "Unknown name", BadRequest),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            ContextOverflow,
        ),
        (400, "INVALID_ARGUMENT", "Unable to process input image.", RequestTooLarge),
        (400, "FAILED_PRECONDITION", "Please enable billing on your project", BillingFailed),
        (401, "UNAUTHENTICATED", "no", AuthFailed),
        (403, "PERMISSION_DENIED", "no", AuthFailed),
        (429, "RESOURCE_EXHAUSTED", "Quota exceeded", RateLimited),
        (503, "UNAVAILABLE", "The model is overloaded.", Overloaded),
        (504, "DEADLINE_EXCEEDED", "no", Overloaded),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_errors_have_their_class(
    server: ModelServer,
    code: int,
    status: str,
    message: str,
    expected: type[LlmError],
    inside: bool,
) -> None:
    refused = error_body(code, status, message)
    reply = [sse(refused)] if inside else [as_bytes(refused)]
    with pytest.raises(expected):
        ask(server, *reply, status=200 if inside else code)


def test_a_wrong_key_is_told_by_its_reason(server: ModelServer) -> None:
    refused = error_body(400, "INVALID_ARGUMENT", "no", error_info("API_KEY_INVALID"))
    with pytest.raises(AuthFailed):
        ask(server, as_bytes(refused), status=400)


def test_the_wait_stands_in_the_details(server: ModelServer) -> None:
    refused = error_body(429, "RESOURCE_EXHAUSTED", "no", retry_info(34.5))
    with pytest.raises(RateLimited) as caught:
        ask(server, as_bytes(refused), status=429)
    assert caught.value.retry_after == 34.5


def test_an_error_that_is_no_text_is_one(server: ModelServer) -> None:
    with pytest.raises(Overloaded):
        ask(server, b"\xff\xfe\x00bad", status=502)
