"""Turns that go in circles are noticed (row A10)."""

from __future__ import annotations

from habakkuk.agent.guard import circle, noted
from habakkuk.llm.types import Message, Role, ToolCall, ToolResult


def step(
    number: int, name: str = "look", result: str = "same", **arguments: object
) -> list[Message]:
    call = ToolCall(id=f"c{number}", name=name, input=arguments)
    return [
        Message(Role.ASSISTANT, (call,)),
        Message(Role.USER, (ToolResult(call_id=call.id, text=result),)),
    ]


def failed(number: int, name: str, text: str) -> list[Message]:
    call = ToolCall(id=f"c{number}", name=name, input={"n": number})
    return [
        Message(Role.ASSISTANT, (call,)),
        Message(Role.USER, (ToolResult(call_id=call.id, text=text, is_error=True),)),
    ]


def flat(steps: list[list[Message]]) -> list[Message]:
    return [message for messages in steps for message in messages]


def test_a_turn_without_calls_gets_on() -> None:
    assert circle([]) is None


def test_two_equal_calls_are_no_circle() -> None:
    assert circle(flat([step(n) for n in range(2)])) is None


def test_the_third_equal_call_is_said_and_the_sixth_stops() -> None:
    found = circle(flat([step(n) for n in range(3)]))
    assert found is not None
    assert not found.stop
    found = circle(flat([step(n) for n in range(6)]))
    assert found is not None
    assert found.stop


def test_equal_calls_with_other_results_are_no_circle() -> None:
    assert circle(flat([step(n, result=f"line {n}") for n in range(8)])) is None


def test_a_note_about_the_circle_does_not_hide_it() -> None:
    messages = flat([step(n) for n in range(5)])
    found = circle(messages)
    assert found is not None
    (result,) = messages[-1].blocks
    assert isinstance(result, ToolResult)
    messages[-1] = Message(Role.USER, (noted(result, found),))
    found = circle([*messages, *step(9)])
    assert found is not None
    assert found.stop


def test_other_calls_between_do_not_hide_it() -> None:
    steps = [step(n) if n % 2 else step(n, name="other", result=str(n)) for n in range(1, 12)]
    found = circle(flat(steps))
    assert found is not None
    assert found.stop


def test_failures_of_one_tool_in_a_row_are_said_then_stop() -> None:
    found = circle(flat([failed(n, "exec", f"fault {n}") for n in range(4)]))
    assert found is not None
    assert not found.stop
    found = circle(flat([failed(n, "exec", f"fault {n}") for n in range(8)]))
    assert found is not None
    assert found.stop


def test_a_success_between_starts_the_count_again() -> None:
    steps = [failed(n, "exec", f"fault {n}") for n in range(3)]
    steps += [step(10, name="exec", result="fine")]
    steps += [failed(n, "exec", f"fault {n}") for n in range(20, 23)]
    assert circle(flat(steps)) is None
