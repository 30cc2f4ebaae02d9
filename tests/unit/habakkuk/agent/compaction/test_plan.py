"""Where a transcript is cut: never between a call and its result, never the open request."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from habakkuk.agent.compaction.plan import Plan, begins_turn, plan, shortened, with_short_results
from habakkuk.agent.compaction.view import view
from habakkuk.agent.repair import repair
from habakkuk.conversations.store.transcript import cut
from habakkuk.conversations.types import Compaction, StoredMessage
from habakkuk.llm.types import Message, Role, Text, ToolCall, ToolResult


def asks(text: str) -> Message:
    return Message(Role.USER, (Text(text=text),))


def says(text: str) -> Message:
    return Message(Role.ASSISTANT, (Text(text=text),))


def calls(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(ToolCall(id=n, name="look", input={}) for n in ids))


def results(*ids: str, text: str = "r" * 10) -> Message:
    return Message(Role.USER, tuple(ToolResult(call_id=n, text=text) for n in ids))


def stored(messages: Sequence[Message]) -> list[StoredMessage]:
    return [StoredMessage(n + 1, "job", n, message) for n, message in enumerate(messages)]


def size(message: Message) -> int:
    """One a character of a text or a result, one a call."""
    return sum(len(getattr(block, "text", ".")) for block in message.blocks)


def cut_at(messages: Sequence[Message], budget: int) -> Plan:
    return plan(stored(messages), budget, size)


def test_as_many_latest_turns_stay_as_fit() -> None:
    found = cut_at([asks("a" * 10), says("b" * 10)] * 3, 45)
    assert [item.seq for item in found.kept] == [3, 4, 5, 6]
    assert [item.seq for item in found.folded] == [1, 2]


def test_the_open_turn_stays_though_it_alone_is_longer() -> None:
    found = cut_at([asks("old"), says("answer"), asks("n" * 100)], 10)
    assert [item.seq for item in found.kept] == [3]


def test_a_cut_is_not_made_between_a_call_and_its_result() -> None:
    turn = [asks("go"), calls("1"), results("1"), says("done")]
    found = cut_at([*turn, asks("next")], 14)
    assert begins_turn(found.kept[0].message)


def test_inside_the_open_turn_its_request_stays_to_the_letter() -> None:
    steps = [message for n in "123456" for message in (calls(n), results(n))]
    found = cut_at([asks("old"), says("answer"), asks("the task"), *steps], 35)
    assert found.request is not None
    assert found.request.message == asks("the task")
    assert found.kept[0].message == calls("4")
    assert 3 not in [item.seq for item in found.folded]


def test_one_result_that_is_too_long_alone_is_cut_in_its_middle() -> None:
    found = cut_at([asks("go"), calls("1"), results("1", text="x" * 300_000)], 10_000)
    assert found.result_limit is not None
    (shown,) = with_short_results(found.kept[1].message, found.result_limit).blocks
    assert isinstance(shown, ToolResult)
    assert len(shown.text) < 10_000
    assert "characters left out" in shown.text


def test_nothing_is_cut_where_everything_fits() -> None:
    assert not cut_at([asks("hi"), says("ho")], 100).shortens


def test_a_request_alone_cannot_be_shortened() -> None:
    assert not cut_at([asks("n" * 100)], 10).shortens


@pytest.mark.parametrize("limit", [30, 31, 100])
def test_a_shortened_text_keeps_both_ends(limit: int) -> None:
    text = "start" + "x" * 1000 + "end"
    assert shortened(text, limit).startswith("start")
    assert shortened(text, limit).endswith("end")


STEPS = st.lists(st.integers(1, 400), max_size=4)
TURNS = st.lists(st.tuples(st.integers(1, 300), STEPS), min_size=1, max_size=8)


@given(turns=TURNS, budget=st.integers(1, 2_000), unfinished=st.booleans())
def test_whatever_is_cut_stays_valid_and_keeps_the_open_request(
    turns: list[tuple[int, list[int]]], budget: int, unfinished: bool
) -> None:
    messages: list[Message] = []
    for number, (length, steps) in enumerate(turns):
        messages.append(asks(f"{number} " + "q" * length))
        for place, result in enumerate(steps):
            call_id = f"c{number}_{place}"
            messages += [calls(call_id), results(call_id, text="r" * result)]
        messages.append(says("done"))
    if unfinished:
        messages.pop()
    all_of_it = stored(messages)
    found = plan(all_of_it, budget, size)
    record = Compaction(
        found.kept[0].seq,
        len(messages),
        "what was",
        found.request.seq if found.request else None,
        found.result_limit,
    )
    shown = view(cut(all_of_it, record, 1))
    assert repair(shown) == tuple(shown)
    opening = [message for message in messages if begins_turn(message)][-1]
    assert opening.blocks[0] in [block for message in shown for block in message.blocks]
