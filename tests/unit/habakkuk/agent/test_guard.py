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


def at_once(number: int, count: int, text: str, *, is_error: bool = False) -> list[Message]:
    """Return one step with this many calls."""
    calls = tuple(
        ToolCall(id=f"c{number}_{n}", name="look", input={"n": n if is_error else 0})
        for n in range(count)
    )
    results = tuple(ToolResult(call_id=c.id, text=text, is_error=is_error) for c in calls)
    return [Message(Role.ASSISTANT, calls), Message(Role.USER, results)]


def test_calls_of_one_step_are_no_circle() -> None:
    """The model has seen the result of none of them: it cannot know better yet."""
    assert circle(at_once(1, 50, "there is no such file", is_error=True)) is None
    assert circle(at_once(1, 50, "same")) is None


def test_steps_of_several_calls_are_counted_as_steps() -> None:
    failing = [at_once(n, 9, "there is no such file", is_error=True) for n in range(8)]
    found = circle(flat(failing[:4]))
    assert found is not None
    assert not found.stop
    found = circle(flat(failing))
    assert found is not None
    assert found.stop


def test_a_success_beside_failures_is_no_row() -> None:
    steps = [failed(n, "look", f"fault {n}") for n in range(7)]
    mixed = at_once(9, 2, "fault", is_error=True)
    fine = ToolResult(call_id="c9_0", text="fine")
    mixed[1] = Message(Role.USER, (fine, *mixed[1].blocks[1:]))
    assert circle(flat([*steps, mixed])) is None
