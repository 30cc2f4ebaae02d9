"""A transcript is valid before it is sent, and as little as possible is changed (K19, K21, K23)."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.agent.repair import INTERRUPTED, repair
from habakkuk.llm.contract import Dialect, Profile
from habakkuk.llm.providers.openai.encode import request_body
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.fakes.transcript_rules import violations

USER, ASSISTANT = Role.USER, Role.ASSISTANT
ids = st.sampled_from(["a", "b", "c", "a_2"])
blocks = st.one_of(
    st.builds(Text, text=st.sampled_from(["", " ", "\n", "hello", "there"])),
    st.builds(Thinking, text=st.sampled_from(["", "hm"])),
    st.builds(ToolCall, id=ids, name=st.just("look"), input=st.just({})),
    st.builds(ToolResult, call_id=ids, text=st.sampled_from(["", "fine"])),
)
messages = st.builds(Message, st.sampled_from(list(Role)), st.lists(blocks, max_size=4).map(tuple))
transcripts = st.lists(messages, max_size=8)


def call(name: str) -> ToolCall:
    return ToolCall(id=name, name="look", input={})


def result(name: str, text: str = "fine") -> ToolResult:
    return ToolResult(call_id=name, text=text)


def missing(name: str) -> ToolResult:
    return ToolResult(call_id=name, text=INTERRUPTED, is_error=True)


def user(*found: Block | str) -> Message:
    return Message(USER, tuple(Text(text=b) if isinstance(b, str) else b for b in found))


def assistant(*found: Block | str) -> Message:
    return Message(ASSISTANT, tuple(Text(text=b) if isinstance(b, str) else b for b in found))


def faults(transcript: Sequence[Message]) -> list[str]:
    """Return what is wrong with a transcript, by rules written apart from the code."""
    found: list[str] = []
    asked: list[str] = []
    for place, message in enumerate(transcript):
        answered = [b.call_id for b in message.blocks if isinstance(b, ToolResult)]
        if not message.blocks:
            found.append(f"{place}: empty")
        if place and transcript[place - 1].role is message.role:
            found.append(f"{place}: two of one role")
        if answered != asked:
            found.append(f"{place}: results {answered} for calls {asked}")
        if message.role is USER and message.calls:
            found.append(f"{place}: a person calls")
        asked = [c.id for c in message.calls]
    ids_used = [c.id for message in transcript for c in message.calls]
    found += [f"id {one} again" for one in set(ids_used) if ids_used.count(one) > 1]
    return found + ([f"no results for {asked}"] if asked else [])


@settings(max_examples=150, deadline=None)
@given(transcripts)
def test_whatever_was_stored_becomes_valid(transcript: list[Message]) -> None:
    repaired = repair(transcript)
    assert faults(repaired) == []
    assert repair(repaired) == repaired


@settings(max_examples=80, deadline=None)
@given(transcripts)
def test_what_every_provider_demands_holds_on_the_wire(transcript: list[Message]) -> None:
    repaired = repair([user("hello"), *transcript])
    body = request_body(LlmRequest("be brief", repaired), Profile(), Dialect())
    assert violations(body) == []


@settings(max_examples=80, deadline=None)
@given(transcripts)
def test_no_word_is_lost(transcript: list[Message]) -> None:
    def words(of: Sequence[Message]) -> list[tuple[Role, str]]:
        return [
            (message.role, block.text)
            for message in of
            for block in message.blocks
            if isinstance(block, Text) and block.text.strip()
        ]

    assert sorted(words(repair(transcript))) == sorted(words(transcript))


@settings(max_examples=80, deadline=None)
@given(transcripts)
def test_a_valid_transcript_is_left_as_it_is(transcript: list[Message]) -> None:
    valid = repair(transcript)
    assert not faults(valid)
    assert repair(list(valid)) == valid


@given(transcripts)
def test_what_passes_for_valid_is_what_repairing_would_have_left(transcript: list[Message]) -> None:
    """The quick look may say no too often, and never yes."""
    with mock.patch("habakkuk.agent.repair._is_valid", return_value=False):
        slowly = repair(transcript)
    assert repair(transcript) == slowly
    assert repair(slowly) == slowly


def test_an_ordinary_transcript_is_not_touched() -> None:
    transcript = (
        user("[Mon 2026-11-30 09:00 UTC]\n", "look"),
        assistant(Thinking(text="hm", signature="s"), "I look", call("a"), call("b")),
        user(result("a"), result("b")),
        assistant("done"),
        user("thanks"),
    )
    assert repair(transcript) == transcript


def test_a_kill_in_a_tool_leaves_an_interrupted_result() -> None:
    transcript = [user("look"), assistant(call("a"), call("b"))]
    assert repair(transcript)[-1] == user(missing("a"), missing("b"))


def test_the_result_stands_before_the_message_that_came_after_the_kill() -> None:
    transcript = [user("look"), assistant(call("a")), user("are you there?")]
    assert repair(transcript)[-1] == user(missing("a"), "are you there?")


def test_a_result_that_is_there_is_kept_beside_a_missing_one() -> None:
    transcript = [user("look"), assistant(call("a"), call("b")), user(result("b"))]
    assert repair(transcript)[-1] == user(missing("a"), result("b"))


def test_calls_that_were_never_answered_are_closed_before_the_next_answer() -> None:
    transcript = [user("look"), assistant(call("a")), assistant("done")]
    assert repair(transcript) == (
        user("look"),
        assistant(call("a")),
        user(missing("a")),
        assistant("done"),
    )


def test_a_lone_result_at_the_end_goes_and_the_history_stays() -> None:
    history = (user("one"), assistant("two"))
    assert repair([*history, user(result("gone"))]) == history


def test_a_history_cut_inside_a_pair_loses_the_orphan_alone() -> None:
    transcript = [user(result("gone")), assistant("two"), user("three")]
    assert repair(transcript) == (assistant("two"), user("three"))


def test_neighbours_of_a_message_that_went_become_one() -> None:
    transcript = [user("one"), assistant("two"), user(result("gone")), assistant("three")]
    assert repair(transcript) == (user("one"), assistant("two", "three"))


def test_a_second_result_for_one_call_goes() -> None:
    transcript = [user("look"), assistant(call("a")), user(result("a", "1"), result("a", "2"))]
    assert repair(transcript)[-1] == user(result("a", "1"))


def test_messages_without_a_word_go() -> None:
    assert repair([user("", " \n"), assistant("hi"), user("x", "")]) == (
        assistant("hi"),
        user("x"),
    )


def test_an_id_used_twice_is_told_apart_with_its_result() -> None:
    transcript = [
        user("look"),
        assistant(call("a")),
        user(result("a", "first")),
        assistant(call("a"), call("a")),
        user(result("a", "second"), result("a", "third")),
    ]
    repaired = repair(transcript)
    assert repaired[:3] == tuple(transcript[:3])
    assert repaired[3] == assistant(call("a_2"), call("a_3"))
    assert repaired[4] == user(result("a_2", "second"), result("a_3", "third"))


def test_nothing_stays_nothing() -> None:
    assert repair([]) == ()
