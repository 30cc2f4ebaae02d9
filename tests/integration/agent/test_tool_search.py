"""An agent with many tools is told of few and finds the others (seed, Session tools: end)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from habakkuk.gateway.types import Admitted
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Points, Stack, until

AGENTS = """
  many: {model: mine/fake-model, permissions: full, toolsets: [core, extra], tool_search_over: 3}
  all: {model: mine/fake-model, permissions: full, toolsets: [core, extra], tool_search_over: -1}
"""
SEARCH = '[[tool tool_search {"query": "weather forecast"}]]'
DESCRIBE = '[[tool tool_describe {"name": "share_price"}]]'
USE = '[[tool weather_forecast {"place": "Ulm"}]]'


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    made = Stack(home, database_url, redis_url, model, more=AGENTS)
    yield made
    made.close()


def told(stack: Stack) -> list[list[str]]:
    """Return the tools that each model call was told of, in their order."""
    return [
        [tool["function"]["name"] for tool in request.body["tools"]]
        for request in stack.model.requests
    ]


def ask(stack: Stack, text: str, agent: str = "many") -> Admitted:
    admitted = stack.say(text, agent=agent)
    stack.ended(admitted)
    return admitted


def test_it_is_told_of_the_core_and_of_how_to_find_the_rest(stack: Stack) -> None:
    stack.start()
    ask(stack, "hello")
    (names,) = told(stack)
    assert {"read_file", "tool_search", "tool_describe"} <= set(names)
    assert "weather_forecast" not in names
    assert names == sorted(names)


def test_what_was_found_is_told_from_the_next_step_on_after_the_rest(stack: Stack) -> None:
    stack.start()
    admitted = ask(stack, f"{SEARCH} [[next]] {USE} go")
    first, second, third = told(stack)
    assert second == [*first, "weather_forecast"]
    assert third == second
    assert stack.journal(admitted)["weather_forecast"][1] == "sunny in Ulm for many"


def test_it_stays_so_in_later_turns_and_after_a_restart(stack: Stack) -> None:
    stack.start()
    ask(stack, f"{DESCRIBE} [[next]] {SEARCH} go")
    stack.stop()
    stack.start()
    ask(stack, "and now?")
    first, *_, last = told(stack)
    assert last == [*first, "share_price", "weather_forecast"]


def test_a_crash_between_search_and_use_loses_nothing(stack: Stack) -> None:
    stack.start(Points({"turn.append.after": 2}))
    admitted = stack.say(f"{SEARCH} [[next]] {USE} go", agent="many")
    until(lambda: len(stack.model.requests) == 1 and stack.journal(admitted))
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    stack.ended(admitted)
    assert told(stack)[-1][-1] == "weather_forecast"
    assert stack.journal(admitted)["weather_forecast"][1] == "sunny in Ulm for many"


def test_another_tools_result_makes_nothing_callable(stack: Stack) -> None:
    stack.start()
    ask(stack, f"{DESCRIBE} [[next]] [[tool share_price {{}}]] go")
    assert "weather_alerts" not in told(stack)[-1]


def test_a_name_that_the_agent_does_not_have_is_not_described(stack: Stack) -> None:
    stack.start()
    admitted = ask(stack, '[[tool tool_describe {"name": "wether_forecast"}]] go')
    assert "near it are: weather_forecast" in stack.journal(admitted)["tool_describe"][1]


def test_without_a_limit_it_is_told_of_all(stack: Stack) -> None:
    stack.start()
    ask(stack, "hello", "all")
    (names,) = told(stack)
    assert {"weather_forecast", "share_price"} <= set(names)
    assert "tool_search" not in names
