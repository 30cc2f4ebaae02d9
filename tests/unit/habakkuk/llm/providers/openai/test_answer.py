"""Answers put together from chunks of every shape that services send."""

from __future__ import annotations

from typing import Any

import pytest

from habakkuk.llm.providers.openai.answer import Answer
from habakkuk.llm.providers.openai.wire import Chunk
from habakkuk.llm.types import (
    Finished,
    LlmEvent,
    ModelRef,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolCallStarted,
    Usage,
)

REF = ModelRef("mine", "m")


def play(
    *choices: dict[str, Any], taken: tuple[str, ...] = (), **last: Any
) -> tuple[list[LlmEvent], Finished]:
    """Feed choices, then a chunk of the fields in `last`; return what was shown and the end."""
    answer = Answer(REF, taken)
    shown = [
        event
        for choice in choices
        for event in answer.add(Chunk.model_validate({"choices": [choice]}))
    ]
    if last:
        shown += answer.add(Chunk.model_validate(last))
    shown += answer.end()
    finished = shown.pop()
    assert isinstance(finished, Finished)
    return shown, finished


def text(*pieces: Any, finish: str | None = "stop") -> list[dict[str, Any]]:
    return [
        *({"delta": {"content": piece}} for piece in pieces),
        {"delta": {}, "finish_reason": finish},
    ]


def tools(*pieces: dict[str, Any], finish: str | None = "tool_calls") -> list[dict[str, Any]]:
    return [
        *({"delta": {"tool_calls": [piece]}} for piece in pieces),
        {"delta": {}, "finish_reason": finish},
    ]


def call(
    arguments: Any = "{}", index: int | None = 0, id: str | None = "c1", name: str | None = "add"
) -> dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


def test_text_is_shown_as_it_comes_and_whole_at_the_end() -> None:
    shown, finished = play(*text("Hel", "lo"))
    assert shown == [TextDelta("Hel"), TextDelta("lo")]
    assert finished.blocks == (Text(text="Hello"),)
    assert (finished.stop, finished.raw_stop, finished.model) == (StopReason.END, "stop", REF)


@pytest.mark.parametrize(
    "odd",
    [
        {"delta": None},
        {"delta": {"content": None, "role": None, "tool_calls": None}},
        {"delta": {"content": 7}},
        {"delta": "text"},
        {"delta": {"tool_calls": "none", "function_call": []}},
        {"index": "zero", "delta": {}},
        {},
        {"delta": {"content": ""}, "logprobs": {"x": 1}},
    ],
)
def test_odd_chunks_change_nothing(odd: dict[str, Any]) -> None:
    assert play(odd, *text("Hi"))[1].blocks == (Text(text="Hi"),)


@pytest.mark.parametrize(
    "odd", [{"choices": []}, {"choices": None}, {}, {"choices": ["x"]}, {"choices": {"delta": {}}}]
)
def test_chunks_without_a_choice_change_nothing(odd: dict[str, Any]) -> None:
    answer = Answer(REF, ())
    assert list(answer.add(Chunk.model_validate(odd))) == []


def test_only_the_first_choice_counts() -> None:
    shown, _ = play({"index": 1, "delta": {"content": "other"}}, *text("Hi"))
    assert shown == [TextDelta("Hi")]


def test_content_may_come_as_parts() -> None:
    parts = [{"type": "text", "text": "Hi"}, {"type": "text", "text": "!"}]
    assert play(*text(parts))[1].blocks == (Text(text="Hi!"),)


def test_thinking_may_come_as_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hi"},
    ]
    shown, finished = play(*text(parts))
    assert shown == [ThinkingDelta("hm"), TextDelta("Hi")]
    assert finished.blocks == (Thinking(text="hm", provider="mine"), Text(text="Hi"))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_by_any_of_its_names(field: str) -> None:
    shown, finished = play({"delta": {field: "hm"}}, *text("Hi"))
    assert shown[0] == ThinkingDelta("hm")
    assert finished.blocks[0] == Thinking(text="hm", provider="mine")


def test_reasoning_under_both_names_counts_once() -> None:
    shown, _ = play({"delta": {"reasoning": "hm", "reasoning_content": "hm"}}, *text("Hi"))
    assert shown[0] == ThinkingDelta("hm")


def test_a_whole_message_counts_like_deltas() -> None:
    choice = {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    shown, finished = play(choice)
    assert shown == [TextDelta("Hi")]
    assert finished.blocks == (Text(text="Hi"),)


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
def test_blank_text_is_no_block_and_is_told(blank: str) -> None:
    _, finished = play(*text(blank))
    assert finished.blocks == ()
    assert finished.notices == ("mine/m answered with nothing",)


# Reasons to stop.


@pytest.mark.parametrize("reason", ["tool_calls", "tool_use", "function_call"])
def test_tool_use_without_a_call_is_an_end(reason: str) -> None:
    _, finished = play(*text("Done.", finish=reason))
    assert finished.stop is StopReason.END
    assert finished.blocks == (Text(text="Done."),)


def test_stop_with_a_call_is_tool_use() -> None:
    assert play(*tools(call(), finish="stop"))[1].stop is StopReason.TOOL_USE


def test_a_missing_reason_with_a_call_is_tool_use() -> None:
    assert play(*tools(call(), finish=None))[1].stop is StopReason.TOOL_USE


def test_an_unknown_reason_keeps_the_text_and_says_so() -> None:
    _, finished = play(*text("All of it.", finish="weird"))
    assert finished.stop is StopReason.UNKNOWN
    assert finished.raw_stop == "weird"
    assert finished.blocks == (Text(text="All of it."),)
    assert any("weird" in notice for notice in finished.notices)


def test_an_unknown_reason_with_whole_calls_runs_them() -> None:
    _, finished = play(*tools(call('{"a": 1}'), finish="weird"))
    assert finished.stop is StopReason.TOOL_USE
    assert finished.blocks == (ToolCall(id="c1", name="add", input={"a": 1}),)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_the_length_limit_is_named_and_told(reason: str) -> None:
    _, finished = play(*text("half", finish=reason))
    assert finished.stop is StopReason.LENGTH
    assert any("length limit" in notice for notice in finished.notices)


@pytest.mark.parametrize("arguments", ['{"path": "a', '{"path": "a"}'])
def test_a_call_at_the_length_limit_is_never_run(arguments: str) -> None:
    _, finished = play(*tools(call(arguments), finish="length"))
    (block,) = finished.blocks
    assert isinstance(block, ToolCall)
    assert block.input == {}
    assert block.fault is not None
    assert "length" in block.fault


@pytest.mark.parametrize("reason", ["content_filter", "refusal", "SAFETY"])
def test_a_silent_refusal_becomes_visible(reason: str) -> None:
    shown, finished = play(*text(finish=reason))
    assert finished.stop is StopReason.REFUSAL
    (block,) = finished.blocks
    assert isinstance(block, Text)
    assert "declined" in block.text
    assert shown == [TextDelta(block.text)]


def test_a_refusal_field_is_the_answer() -> None:
    shown, finished = play({"delta": {"refusal": "I can"}}, {"delta": {"refusal": "not."}}, *text())
    assert shown == [TextDelta("I can"), TextDelta("not.")]
    assert finished.stop is StopReason.REFUSAL
    assert finished.blocks == (Text(text="I cannot."),)


# Tool calls.


def test_a_call_in_pieces() -> None:
    shown, finished = play(
        *tools(
            call(""),
            {"index": 0, "function": {"arguments": '{"a"'}},
            {"index": 0, "function": {"arguments": ": 1}"}},
        )
    )
    assert shown == [ToolCallStarted(0, "add")]
    assert finished.stop is StopReason.TOOL_USE
    assert finished.blocks == (ToolCall(id="c1", name="add", input={"a": 1}),)


def test_parallel_calls_interleaved() -> None:
    pieces = [
        call("", 0, "c1"),
        call("", 1, "c2", "sub"),
        call('{"b": 2}', 1, None, None),
        call('{"a": 1}', 0, None, None),
    ]
    assert play(*tools(*pieces))[1].blocks == (
        ToolCall(id="c1", name="add", input={"a": 1}),
        ToolCall(id="c2", name="sub", input={"b": 2}),
    )


def test_pieces_without_an_index_go_to_the_latest_call() -> None:
    pieces = [call('{"a"', None), call(": 1}", None, None, None), call("{}", None, "c2", "sub")]
    assert play(*tools(*pieces))[1].blocks == (
        ToolCall(id="c1", name="add", input={"a": 1}),
        ToolCall(id="c2", name="sub", input={}),
    )


def test_calls_that_are_all_numbered_zero_are_told_apart_by_id() -> None:
    blocks = play(*tools(call("{}", 0, "c1"), call("{}", 0, "c2", "sub")))[1].blocks
    assert [block.name for block in blocks if isinstance(block, ToolCall)] == ["add", "sub"]


def test_a_name_repeated_in_every_piece_counts_once() -> None:
    (block,) = play(*tools(call('{"a"'), call(": 1}")))[1].blocks
    assert block == ToolCall(id="c1", name="add", input={"a": 1})


def test_the_old_function_call_is_a_call() -> None:
    choice = {
        "delta": {"function_call": {"name": "add", "arguments": "{}"}},
        "finish_reason": "function_call",
    }
    (block,) = play(choice)[1].blocks
    assert isinstance(block, ToolCall)
    assert block.name == "add"


@pytest.mark.parametrize("missing", [None, "", " ", 0])
def test_a_call_without_an_id_gets_a_fresh_one(missing: Any) -> None:
    blocks = play(*tools(call(id=missing), call(index=1, id=missing)), taken=("0",))[1].blocks
    ids = [block.id for block in blocks if isinstance(block, ToolCall)]
    assert len(set(ids)) == 2
    assert all(one.startswith("call_") for one in ids)


def test_an_id_repeated_within_the_answer_gets_a_fresh_one() -> None:
    blocks = play(*tools(call(index=0), call(index=1)))[1].blocks
    ids = [block.id for block in blocks if isinstance(block, ToolCall)]
    assert ids[0] == "c1"
    assert ids[1] not in ("", "c1")


def test_an_id_of_an_earlier_step_gets_a_fresh_one() -> None:
    (block,) = play(*tools(call()), taken=("c1",))[1].blocks
    assert isinstance(block, ToolCall)
    assert block.id not in ("", "c1")


@pytest.mark.parametrize("arguments", ["", None, "null", " "])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    assert play(*tools(call(arguments)))[1].blocks == (ToolCall(id="c1", name="add", input={}),)


@pytest.mark.parametrize("arguments", [{"a": 1}, '"{\\"a\\": 1}"'])
def test_arguments_as_an_object_or_encoded_twice(arguments: Any) -> None:
    assert play(*tools(call(arguments)))[1].blocks == (
        ToolCall(id="c1", name="add", input={"a": 1}),
    )


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": ',
        "[1]",
        "7",
        '"text"',
        '{"a": NaN}',
        '{"a": 1} x',
        "[" * 100_000,
        '{"a": ' * 500 + "1" + "}" * 500,
        '{"a": ' + "9" * 30 + "}",
    ],
)
def test_arguments_that_are_no_json_object_make_a_fault(arguments: str) -> None:
    (block,) = play(*tools(call(arguments)))[1].blocks
    assert isinstance(block, ToolCall)
    assert block.input == {}
    assert block.fault


def test_a_call_without_a_name_makes_a_fault() -> None:
    (block,) = play(*tools(call(name=None)))[1].blocks
    assert isinstance(block, ToolCall)
    assert block.fault
    assert block.name


# Characters.


def test_a_lone_surrogate_and_nul_are_replaced_in_text() -> None:
    shown, finished = play(*text("a\ud83d", "b\x00"))
    assert finished.blocks == (Text(text="a\ufffdb\ufffd"),)
    assert "".join(e.text for e in shown if isinstance(e, TextDelta)) == "a\ufffdb\ufffd"


def test_a_character_cut_between_two_deltas_becomes_whole() -> None:
    shown, finished = play(*text("a\ud83d", "\ude00b"))
    assert shown == [TextDelta("a"), TextDelta("😀b")]
    assert finished.blocks == (Text(text="a😀b"),)


def test_half_a_character_at_the_end_is_replaced() -> None:
    assert play(*text("a\ud83d"))[1].blocks == (Text(text="a\ufffd"),)


def test_arguments_and_names_are_clean() -> None:
    (block,) = play(*tools(call('{"a": "\\u0000\\ud83d"}', id="i\x00", name="n\ud83d")))[1].blocks
    assert isinstance(block, ToolCall)
    assert block.input == {"a": "\ufffd\ufffd"}
    (block.id + block.name).encode()
    assert "\x00" not in block.id


# Usage.


def test_usage_in_a_chunk_of_its_own() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    _, finished = play(*text("Hi"), choices=[], usage=usage)
    assert finished.usage == Usage(input=100, output=20, cache_read=60, reasoning=5)


def test_usage_beside_the_last_choice() -> None:
    _, finished = play(
        *text("Hi"), choices=[{"delta": {}}], usage={"prompt_tokens": 3, "completion_tokens": 2}
    )
    assert finished.usage == Usage(input=3, output=2)


def test_usage_inside_the_choice() -> None:
    _, finished = play(
        {"delta": {"content": "x"}, "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    )
    assert finished.usage == Usage(input=3, output=2)


def test_cached_tokens_by_their_other_name() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}
    assert play(*text("x"), usage=usage)[1].usage.cache_read == 4


@pytest.mark.parametrize(
    "usage",
    [None, {}, "many", {"prompt_tokens": -1}, {"prompt_tokens": None, "prompt_tokens_details": 3}],
)
def test_odd_usage_counts_as_none(usage: Any) -> None:
    assert play(*text("x"), usage=usage)[1].usage == Usage()
