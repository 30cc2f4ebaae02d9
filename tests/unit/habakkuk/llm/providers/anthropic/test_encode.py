"""The request body: what the Messages format demands of a transcript."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from habakkuk.llm.contract import Profile
from habakkuk.llm.providers.anthropic.encode import request_body, without_thinking
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Media,
    Message,
    ModelRef,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from tests.fakes.messages_rules import messages_violations

MODEL = ModelRef("mine", "m")
CALL = ToolCall(id="call_1", name="add", input={"a": 1})
RESULT = ToolResult(call_id="call_1", text="2")
ADD = ToolSpec("add", "Adds.", {"type": "object"})
SUB = ToolSpec("sub", "Subtracts.", {"type": "object"})
SIGNED = Thinking(text="hm 😀 ", signature="c2ln", provider="mine", model="m")
SEALED = Opaque(
    provider="mine", model="m", data={"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}
)
CACHED = {"type": "ephemeral"}


def user(*blocks: Block) -> Message:
    return Message(Role.USER, blocks)


def assistant(*blocks: Block) -> Message:
    return Message(Role.ASSISTANT, blocks)


def said(text: str) -> Message:
    return user(Text(text=text))


def body(*messages: Message, profile: Profile | None = None, **more: Any) -> dict[str, Any]:
    request = LlmRequest(messages=messages, **{"system": "Be brief.", **more})
    return request_body(request, profile or Profile(), MODEL)


def unmarked(value: Any) -> Any:
    """Return a copy without cache points."""
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


def wired(*messages: Message, **more: Any) -> Any:
    return unmarked(body(*messages, **more)["messages"])


def test_a_turn_with_a_tool_has_the_documented_shape() -> None:
    found = body(
        said("1+1?"), assistant(Text(text="Let me see."), CALL), user(RESULT), tools=(ADD,)
    )
    assert unmarked(found) == {
        "max_tokens": 8192,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "add", "description": "Adds.", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "1+1?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "2"}],
            },
        ],
    }


def test_results_stand_before_everything_else_of_their_message() -> None:
    second = ToolResult(call_id="c2", text="3", is_error=True)
    asked = assistant(CALL, ToolCall(id="c2", name="add", input={}))
    *_, last = wired(said("x"), asked, user(Text(text="and?"), RESULT, second))
    assert last["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "2"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "3", "is_error": True},
        {"type": "text", "text": "and?"},
    ]


def test_signed_thinking_goes_back_to_its_maker_to_the_letter_and_in_its_place() -> None:
    _, second, _ = wired(said("x"), assistant(SIGNED, SEALED, Text(text="a"), CALL), user(RESULT))
    assert second["content"][:2] == [
        {"type": "thinking", "thinking": SIGNED.text, "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"},
    ]


def test_signed_thinking_without_text_is_kept() -> None:
    empty = SIGNED.model_copy(update={"text": ""})
    _, second, _ = wired(said("x"), assistant(empty, Text(text="a")), said("y"))
    assert second["content"][0] == {"type": "thinking", "thinking": "", "signature": "c2ln"}


@pytest.mark.parametrize(
    "block",
    [
        SIGNED.model_copy(update={"provider": "other"}),
        SIGNED.model_copy(update={"model": "another"}),
        SIGNED.model_copy(update={"signature": None}),
        SEALED.model_copy(update={"provider": "other"}),
        SEALED.model_copy(update={"model": "another"}),
    ],
)
def test_thinking_of_others_and_unsigned_stays_here(block: Block) -> None:
    _, second, _ = wired(said("x"), assistant(block, Text(text="a")), said("y"))
    assert second["content"] == [{"type": "text", "text": "a"}]


def test_an_answer_that_ends_in_thinking_ends_before_it() -> None:
    _, second, _ = wired(said("x"), assistant(Text(text="a"), SIGNED, SEALED), said("y"))
    assert second["content"] == [{"type": "text", "text": "a"}]


def test_a_message_of_thinking_alone_is_left_out() -> None:
    assert [m["role"] for m in wired(said("x"), assistant(SIGNED), said("y"))] == ["user", "user"]


def test_without_thinking_nothing_sealed_is_left() -> None:
    request = LlmRequest("", (said("x"), assistant(SIGNED, SEALED, Text(text="a"))))
    assert without_thinking(request).messages[1].blocks == (Text(text="a"),)


# Cache points.


def points(found: dict[str, Any]) -> Iterator[str]:
    """Yield where the cache points stand."""
    yield from (f"tool {n}" for n, tool in enumerate(found["tools"]) if "cache_control" in tool)
    yield from (f"system {n}" for n, s in enumerate(found["system"]) if "cache_control" in s)
    for n, message in enumerate(found["messages"]):
        for m, block in enumerate(message["content"]):
            if "cache_control" in block:
                assert block["cache_control"] == CACHED
                yield f"message {n}.{m}"


def test_cache_points_stand_at_tools_system_and_the_last_two_user_messages() -> None:
    talk = (
        said("a"),
        assistant(Text(text="b")),
        user(Text(text="c"), Text(text="d")),
        assistant(CALL),
        user(RESULT),
    )
    found = body(*talk, tools=(ADD, SUB))
    assert list(points(found)) == ["tool 1", "system 0", "message 2.1", "message 4.0"]


def test_what_was_sent_before_is_sent_again_to_the_letter() -> None:
    talk = (said("a"), assistant(SIGNED, CALL), user(RESULT), assistant(Text(text="b")), said("c"))
    longer = json.dumps(unmarked(body(*talk, tools=(ADD,))))
    before = json.dumps(unmarked(body(*talk[:3], tools=(ADD,))))
    # Up to the end of the last message the shorter body is the beginning of the longer one.
    cut = before.index(', "system"') - len("]")
    assert longer.startswith(before[:cut])


def test_cache_points_leave_the_callers_objects_alone() -> None:
    body(said("x"), tools=(ADD,))
    assert ADD.parameters == {"type": "object"}


# What the format refuses.


@pytest.mark.parametrize(
    "messages",
    [
        (user(Text(text=" ")), said("x")),
        (said("x"), assistant(Text(text="\n")), said("y")),
        (assistant(Text(text="left over")), said("x")),
        (
            said("x"),
            assistant(ToolCall(id="functions.add:0", name="a.b c", input={})),
            user(ToolResult(call_id="functions.add:0", text="")),
        ),
        (said("x"), assistant(CALL), user(ToolResult(call_id="call_1", text=" ", is_error=True))),
        (said("x"), assistant(SIGNED), said("y")),
        (user(Media(blob="b", mime="image/png")),),
        (user(Text(text="x\x00\ud800")),),
    ],
)
def test_nothing_is_sent_that_the_service_refuses(messages: tuple[Message, ...]) -> None:
    found = body(*messages)
    assert messages_violations(found) == []
    json.dumps(found).encode()


def test_a_file_is_named() -> None:
    (first,) = wired(user(Text(text="see"), Media(blob="b", mime="image/png", name="cat.png")))
    assert first["content"][1]["text"] == "(attached file: cat.png, image/png)"


def test_a_blank_system_prompt_and_no_tools_are_left_out() -> None:
    found = body(said("x"), system=" ")
    assert "system" not in found
    assert "tools" not in found


def test_for_a_model_without_tools_they_are_told_as_text() -> None:
    found = body(
        said("x"), assistant(CALL), user(RESULT), tools=(ADD,), profile=Profile(tools=False)
    )
    assert "tools" not in found
    told = [m["content"][0]["text"] for m in unmarked(found["messages"])]
    assert told == ["x", "(called add)", "(result of add) 2"]


# Options.


@pytest.mark.parametrize(
    ("asked", "profile", "expected"),
    [
        (None, Profile(), 8192),
        (None, Profile(default_max_tokens=32_000), 32_000),
        (100, Profile(default_max_tokens=32_000), 100),
        (64_000, Profile(default_max_tokens=32_000), 64_000),
        (500, Profile(max_tokens=200), 200),
        (None, Profile(max_tokens=200), 200),
    ],
)
def test_the_number_of_tokens_that_the_format_demands(
    asked: int | None, profile: Profile, expected: int
) -> None:
    assert body(said("x"), max_tokens=asked, profile=profile)["max_tokens"] == expected


@pytest.mark.parametrize(
    ("effort", "sent"), [("high", "high"), ("max", "max"), ("minimal", "low"), ("none", "low")]
)
def test_effort_in_the_words_of_the_format(effort: str, sent: str) -> None:
    found = body(said("x"), effort=effort, profile=Profile(efforts=("low", "high", "max")))
    assert found["output_config"] == {"effort": sent}


def test_effort_is_kept_from_models_that_refuse_it() -> None:
    assert "output_config" not in body(said("x"), effort="high")


def test_thinking_is_asked_for_with_its_text() -> None:
    found = body(said("x"), profile=Profile(thinking="adaptive"))
    assert found["thinking"] == {"type": "adaptive", "display": "summarized"}


def test_temperature_only_where_the_profile_has_one() -> None:
    assert "temperature" not in body(said("x"))
    assert body(said("x"), profile=Profile(temperature=0.2))["temperature"] == 0.2
