"""Answers put together from the events of a Messages stream."""

from __future__ import annotations

from typing import Any

import pytest

from habakkuk.llm.providers.anthropic.answer import Answer
from habakkuk.llm.providers.anthropic.wire import StreamEvent
from habakkuk.llm.types import (
    Finished,
    LlmEvent,
    ModelRef,
    Opaque,
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
Event = dict[str, Any]


def start(**usage: Any) -> Event:
    return {"type": "message_start", "message": {"content": [], "usage": usage}}


def begin(index: int | None, kind: str, **fields: Any) -> Event:
    block = {"type": kind, **fields}
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int | None, kind: str, **fields: Any) -> Event:
    delta = {"type": f"{kind}_delta", **fields}
    return {"type": "content_block_delta", "index": index, "delta": delta}


def end(reason: str | None = "end_turn", usage: Any = None, **more: Any) -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason, **more}, "usage": usage}


def text(*pieces: str, index: int = 0) -> list[Event]:
    return [begin(index, "text", text=""), *(piece(index, "text", text=p) for p in pieces)]


def call(index: int, *arguments: str, call_id: str = "c1", name: str = "add") -> list[Event]:
    shown = (piece(index, "input_json", partial_json=a) for a in arguments)
    return [begin(index, "tool_use", id=call_id, name=name, input={}), *shown]


def play(*events: Event, taken: tuple[str, ...] = ()) -> tuple[list[LlmEvent], Finished]:
    """Feed events; return what was shown and the end."""
    answer = Answer(REF, taken)
    shown = [e for event in events for e in answer.add(StreamEvent.model_validate(event))]
    shown += answer.end()
    finished = shown.pop()
    assert isinstance(finished, Finished)
    return shown, finished


def test_blocks_keep_the_order_in_which_they_began() -> None:
    shown, finished = play(
        start(),
        begin(0, "thinking", thinking="", signature=""),
        piece(0, "thinking", thinking="hm"),
        piece(0, "signature", signature="c2"),
        piece(0, "signature", signature="ln"),
        *text("Let", " me", index=1),
        *call(2, '{"a": ', "1}"),
        begin(3, "redacted_thinking", data="Emw="),
        *call(4, call_id="c2"),
        end("tool_use"),
    )
    assert shown == [
        ThinkingDelta("hm"),
        TextDelta("Let"),
        TextDelta(" me"),
        ToolCallStarted(0, "add"),
        ToolCallStarted(1, "add"),
    ]
    assert finished.blocks == (
        Thinking(text="hm", signature="c2ln", provider="mine", model="m"),
        Text(text="Let me"),
        ToolCall(id="c1", name="add", input={"a": 1}),
        Opaque(provider="mine", model="m", data={"type": "redacted_thinking", "data": "Emw="}),
        ToolCall(id="c2", name="add", input={}),
    )
    assert finished.stop is StopReason.TOOL_USE


def test_interleaved_blocks_are_told_apart_by_their_index() -> None:
    _, finished = play(
        start(),
        *call(0, call_id="c1", name="a"),
        *call(1, call_id="c2", name="b"),
        piece(0, "input_json", partial_json='{"x": 1}'),
        piece(1, "input_json", partial_json='{"y": 2}'),
        end("tool_use"),
    )
    assert finished.blocks == (
        ToolCall(id="c1", name="a", input={"x": 1}),
        ToolCall(id="c2", name="b", input={"y": 2}),
    )


def test_a_signed_block_without_text_is_kept() -> None:
    _, finished = play(
        start(), begin(0, "thinking", thinking=""), piece(0, "signature", signature="s"), end()
    )
    (block, *_) = finished.blocks
    assert block == Thinking(text="", signature="s", provider="mine", model="m")


def test_space_in_signed_text_is_not_trimmed() -> None:
    _, finished = play(
        start(), begin(0, "thinking", thinking=" a \n", signature="s"), *text("b", index=1), end()
    )
    assert finished.blocks[0] == Thinking(text=" a \n", signature="s", provider="mine", model="m")


def test_signed_text_that_no_database_can_hold_loses_its_signature() -> None:
    _, finished = play(start(), begin(0, "thinking", thinking="a\x00", signature="s"), end())
    assert finished.blocks == (Thinking(text="a\ufffd", provider="mine", model="m"),)


def test_a_signature_that_no_database_can_hold_is_left_out() -> None:
    _, finished = play(start(), begin(0, "thinking", thinking="a", signature="s\x00"), end())
    assert finished.blocks == (Thinking(text="a", provider="mine", model="m"),)


def test_an_answer_of_thinking_alone_says_that_it_is_nothing() -> None:
    _, finished = play(start(), begin(0, "thinking", thinking="hm", signature="s"), end())
    assert any("nothing" in notice for notice in finished.notices)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END),
        ("stop_sequence", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("pause_turn", StopReason.PAUSE),
        ("refusal", StopReason.REFUSAL),
        ("weird", StopReason.UNKNOWN),
        ("tool_use", StopReason.END),
    ],
)
def test_reasons_to_stop(reason: str, stop: StopReason) -> None:
    _, finished = play(start(), *text("Hi"), end(reason))
    assert (finished.stop, finished.raw_stop) == (stop, reason)
    assert finished.blocks == (Text(text="Hi"),)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "pause_turn"])
def test_what_is_not_complete_says_so(reason: str) -> None:
    assert "complete" in " ".join(play(start(), *text("Hi"), end(reason))[1].notices)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_calls_of_an_answer_that_was_cut_are_never_run(reason: str) -> None:
    _, finished = play(start(), *text("x"), *call(1, '{"a": 1}'), end(reason))
    block = finished.blocks[1]
    assert isinstance(block, ToolCall)
    assert (block.input, bool(block.fault)) == ({}, True)


def test_a_silent_refusal_tells_its_reason() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It looked like malware."}
    shown, finished = play(start(), end("refusal", stop_details=details))
    assert len(shown) == 1
    assert isinstance(shown[0], TextDelta)
    assert "It looked like malware" in shown[0].text
    assert finished.blocks == (Text(text=shown[0].text),)


def test_a_refusal_after_text_adds_nothing() -> None:
    shown, _ = play(start(), *text("Sorry."), end("refusal"))
    assert shown == [TextDelta("Sorry.")]


def test_usage_counts_cached_tokens_as_input() -> None:
    first = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    last = {"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 12}}
    _, finished = play(start(**first, output_tokens=1), *text("Hi"), end(usage=last))
    assert finished.usage == Usage(
        input=125, output=30, cache_read=100, cache_write=20, reasoning=12
    )


def test_later_counts_replace_earlier_ones_and_missing_ones_do_not() -> None:
    last = {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": None}
    _, finished = play(
        start(input_tokens=5, cache_read_input_tokens=4), *text("x"), end(usage=last)
    )
    assert finished.usage == Usage(input=13, output=2, cache_read=4)


def test_an_id_that_the_session_has_is_replaced() -> None:
    _, finished = play(start(), *call(0, call_id="c1"), end("tool_use"), taken=("c1",))
    (block,) = finished.blocks
    assert isinstance(block, ToolCall)
    assert block.id not in ("", "c1")


def test_a_call_whose_input_comes_at_once() -> None:
    whole = begin(0, "tool_use", id="c1", name="add", input={"a": 1})
    _, finished = play(start(), whole, end("tool_use"))
    assert finished.blocks == (ToolCall(id="c1", name="add", input={"a": 1}),)


def test_arguments_that_are_no_json_make_a_fault() -> None:
    _, finished = play(start(), *call(0, "{nope"), end("tool_use"))
    (block,) = finished.blocks
    assert isinstance(block, ToolCall)
    assert (block.input, bool(block.fault)) == ({}, True)


def test_a_whole_message_in_place_of_a_stream() -> None:
    content = [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
    ]
    usage = {"input_tokens": 4, "output_tokens": 2}
    _, finished = play(
        {"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}
    )
    assert finished.blocks == (Text(text="Hi"), ToolCall(id="c1", name="add", input={"a": 1}))
    assert finished.usage == Usage(input=4, output=2)


def test_a_block_of_an_unknown_kind_is_left_out_and_named() -> None:
    strange = begin(0, "hologram", id="h1")
    odd = piece(0, "shape", points=[1])
    _, finished = play(start(), strange, odd, *text("Hi", index=1), end())
    assert finished.blocks == (Text(text="Hi"),)
    assert any("hologram" in notice for notice in finished.notices)


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "ping"},
        {"type": "later_invention", "index": "x", "delta": 7},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}},
        {"type": "message_delta", "delta": None, "usage": "many"},
        {"type": "message_start", "message": "x"},
        {},
    ],
)
def test_odd_events_change_nothing(odd: Event) -> None:
    shown, finished = play(odd, start(), odd, *text("Hi"), odd, end(), odd)
    assert shown == [TextDelta("Hi")]
    assert (finished.stop, finished.blocks) == (StopReason.END, (Text(text="Hi"),))


def test_deltas_whose_block_never_began() -> None:
    _, finished = play(
        start(), piece(0, "thinking", thinking="hm"), piece(1, "text", text="Hi"), end()
    )
    assert finished.blocks == (
        Thinking(text="hm", provider="mine", model="m"),
        Text(text="Hi"),
    )
