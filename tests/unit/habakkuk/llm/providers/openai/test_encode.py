"""The request body: what services demand of a transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from habakkuk.llm.contract import Dialect, Profile
from habakkuk.llm.providers.openai.encode import request_body
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Media,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from tests.fakes.transcript_rules import violations

CALL = ToolCall(id="call_1", name="add", input={"a": 1})
RESULT = ToolResult(call_id="call_1", text="2")
ADD = ToolSpec("add", "Adds.", {"type": "object"})


def user(*blocks: Block) -> Message:
    return Message(Role.USER, blocks)


def assistant(*blocks: Block) -> Message:
    return Message(Role.ASSISTANT, blocks)


def body(
    *messages: Message, dialect: Dialect | None = None, profile: Profile | None = None, **more: Any
) -> dict[str, Any]:
    request = LlmRequest(messages=messages, **{"system": "Be brief.", **more})
    return request_body(request, profile or Profile(), dialect or Dialect())


def wired(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body(*messages, **more)["messages"]
    return found


def test_a_turn_with_a_tool_has_the_documented_shape() -> None:
    assert wired(
        user(Text(text="1+1?")), assistant(Text(text="Let me see."), CALL), user(RESULT)
    ) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "1+1?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "2"},
    ]


def test_results_go_before_what_was_said_with_them() -> None:
    sent = wired(user(Text(text="x")), assistant(CALL), user(RESULT, Text(text="and hurry")))
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "user"]
    assert violations({"messages": sent}) == []


def test_a_call_without_text_has_null_content() -> None:
    assert (
        wired(user(Text(text="x")), assistant(Text(text=" "), CALL), user(RESULT))[2]["content"]
        is None
    )


def test_thinking_and_foreign_blocks_are_not_sent() -> None:
    blocks = (
        Thinking(text="secret thought"),
        Opaque(provider="other", data={"k": "v"}),
        Text(text="hi"),
    )
    assert wired(user(Text(text="x")), assistant(*blocks))[2] == {
        "role": "assistant",
        "content": "hi",
    }


@pytest.mark.parametrize("blocks", [(), (Thinking(text="hm"),), (Text(text="  \n"),)])
def test_a_message_that_says_nothing_is_left_out(blocks: tuple[Block, ...]) -> None:
    sent = wired(user(Text(text="x")), assistant(*blocks), user(Text(text="y")))
    assert [m["role"] for m in sent] == ["system", "user", "user"]


def test_an_empty_system_prompt_is_left_out() -> None:
    assert wired(user(Text(text="x")), system=" ")[0]["role"] == "user"


def test_a_faulty_call_goes_back_with_empty_arguments() -> None:
    call = ToolCall(id="c", name="add", input={}, fault="cut")
    assert (
        wired(user(Text(text="x")), assistant(call))[2]["tool_calls"][0]["function"]["arguments"]
        == "{}"
    )


@pytest.mark.parametrize(
    ("name", "sent"),
    [("functions.add", "functions_add"), ("a b", "a_b"), ("x" * 90, "x" * 64), ("", "unnamed")],
)
def test_made_up_names_are_sent_as_services_accept_them(name: str, sent: str) -> None:
    message = wired(user(Text(text="x")), assistant(ToolCall(id="c", name=name, input={})))[2]
    assert message["tool_calls"][0]["function"]["name"] == sent


def test_a_file_is_named() -> None:
    sent = wired(user(Media(blob="b", mime="image/png", name="cat.png"), Text(text="what is it?")))
    assert "cat.png" in sent[1]["content"]
    assert "what is it?" in sent[1]["content"]


def test_surrogates_and_nul_are_replaced_everywhere() -> None:
    sent = wired(
        user(Text(text="a\ud83d")),
        assistant(Text(text="b\x00"), CALL),
        user(ToolResult(call_id="call_1", text="\udc00c")),
        system="\ud800s",
    )
    text = json.dumps(sent, ensure_ascii=False)
    text.encode()
    assert "\x00" not in text


def test_tools_are_sent_as_functions() -> None:
    assert body(user(Text(text="x")), tools=(ADD,))["tools"] == [
        {
            "type": "function",
            "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}},
        }
    ]


def test_no_tools_no_field() -> None:
    assert "tools" not in body(user(Text(text="x")))


def test_a_model_without_tools_gets_neither_tools_nor_calls() -> None:
    sent = body(
        user(Text(text="1+1?")),
        assistant(CALL),
        user(RESULT),
        profile=Profile(tools=False),
        tools=(ADD,),
    )
    assert "tools" not in sent
    assert all(m["role"] != "tool" and "tool_calls" not in m for m in sent["messages"])
    assert "2" in sent["messages"][-1]["content"]
    assert violations(sent) == []


def test_a_simple_prompt_replaces_the_system_prompt() -> None:
    assert (
        wired(user(Text(text="x")), profile=Profile(simple_prompt="Short."))[0]["content"]
        == "Short."
    )


def test_the_profile_sets_temperature_and_the_name_of_the_limit() -> None:
    sent = body(
        user(Text(text="x")),
        profile=Profile(temperature=0.2, max_tokens=200, max_tokens_field="max_tokens"),
    )
    assert (sent["temperature"], sent["max_tokens"]) == (0.2, 200)


def test_the_smaller_limit_holds() -> None:
    assert (
        body(user(Text(text="x")), profile=Profile(max_tokens=200), max_tokens=50)[
            "max_completion_tokens"
        ]
        == 50
    )


def test_nothing_optional_is_sent_unasked() -> None:
    assert set(body(user(Text(text="x")), cache_key="k")) == {"messages", "stream_options"}


def test_usage_is_asked_for() -> None:
    assert body(user(Text(text="x")))["stream_options"] == {"include_usage": True}


def test_effort_is_sent_when_set() -> None:
    profile = Profile(efforts=("low", "high"))
    assert body(user(Text(text="x")), effort="high", profile=profile)["reasoning_effort"] == "high"


def test_effort_is_kept_from_models_that_take_none() -> None:
    assert "reasoning_effort" not in body(user(Text(text="x")), effort="high")


@pytest.mark.parametrize("effort", [None, "high"])
def test_openai_s_newer_models_are_told_not_to_think_where_there_are_tools(
    effort: str | None,
) -> None:
    """With any other effort they refuse functions there, and without a word of it too."""
    own, newer = Dialect(own_rules=True), Profile(efforts=("high",), chat_tools_unthinking=True)

    def sent(**more: Any) -> Any:
        return body(user(Text(text="x")), effort=effort, **more).get("reasoning_effort")

    assert sent(tools=(ADD,), profile=newer, dialect=own) == "none"
    assert sent(profile=newer, dialect=own) == effort
    assert sent(tools=(ADD,), profile=newer) == effort
    assert sent(tools=(ADD,), profile=Profile(efforts=("high",)), dialect=own) == effort


def test_a_dialect_decides_what_its_service_takes() -> None:
    dialect = Dialect(max_tokens_field="max_tokens", stream_usage=False, cache_key=True)
    sent = body(user(Text(text="x")), dialect=dialect, max_tokens=9, cache_key="k")
    assert sent == {"messages": sent["messages"], "max_tokens": 9, "prompt_cache_key": "k"}


def test_short_ids_are_the_same_for_call_and_result_and_differ_between_calls() -> None:
    other = ToolCall(id="call_2", name="add", input={})
    sent = wired(
        user(Text(text="x")),
        assistant(CALL, other),
        user(RESULT, ToolResult(call_id="call_2", text="3")),
        dialect=Dialect(call_id_length=9),
    )
    ids = [call["id"] for call in sent[2]["tool_calls"]]
    assert [m["tool_call_id"] for m in sent[3:]] == ids
    assert len(set(ids)) == 2
    assert all(len(one) == 9 and one.isalnum() for one in ids)
