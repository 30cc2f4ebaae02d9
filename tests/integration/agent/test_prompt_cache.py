"""What a model was sent before, it is sent again to the byte: across turns and restarts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.contract.providers.wires import WIRES
from tests.fakes.model_script import Reply
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.stack import Stack

# Where the transcript stands in a request of each format.
FIELDS = {
    "openai": "messages",
    "anthropic": "messages",
    "responses": "input",
    "gemini": "contents",
}
AGENTS = """
  openai: {model: mine/m, permissions: full}
  anthropic: {model: an/m, permissions: full}
  responses: {model: resp/m, permissions: full}
  gemini: {model: gem/m, permissions: full}
"""


class Alternating:
    """Thinks and calls a tool first in every turn, then answers."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._count = 0

    def __call__(self, request: Recorded) -> Reply:
        self._count += 1
        return WIRES[self._kind]("private" if self._count % 2 else "text")


def started(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Stack:
    base = model.base_url
    providers = f"""
  an: {{type: anthropic, base_url: "{base}", api_key_env: MINE_KEY}}
  resp: {{type: responses, base_url: "{base}", api_key_env: MINE_KEY}}
  gem: {{type: gemini, base_url: "{base.removesuffix("/v1")}", api_key_env: MINE_KEY}}
"""
    stack = Stack(home, database_url, redis_url, model, AGENTS, providers)
    stack.start()
    return stack


@pytest.fixture(params=sorted(FIELDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def requests(
    kind: str, home: Path, database_url: str, redis_url: str, model: ModelServer
) -> Iterator[list[dict[str, Any]]]:
    """The requests of three turns, with a restart of the whole process before the last."""
    model.script = Alternating(kind)
    stack = started(home, database_url, redis_url, model)
    for text in ("the first", "the second"):
        stack.ended(stack.say(text, agent=kind))
    stack.close()
    stack = started(home, database_url, redis_url, model)
    stack.ended(stack.say("the third", agent=kind))
    yield [unmarked(request.body) for request in model.requests]
    stack.close()


def unmarked(value: Any) -> Any:
    """Return a body without the marks of cache points, which move and do not count."""
    if isinstance(value, dict):
        return {name: unmarked(inner) for name, inner in value.items() if name != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


def test_each_request_begins_with_the_one_before_it(
    requests: list[dict[str, Any]], kind: str
) -> None:
    assert len(requests) == 6
    sent = [json.dumps(body[FIELDS[kind]])[:-1] for body in requests]
    for before, after in pairwise(sent):
        assert after.startswith(before)


def test_the_prompt_and_the_tools_never_change(requests: list[dict[str, Any]], kind: str) -> None:
    fixed = [
        json.dumps({name: body[name] for name in body if name != FIELDS[kind]}) for body in requests
    ]
    assert len(set(fixed)) == 1
    assert "tools" in requests[0]


def test_tools_stand_in_the_order_of_their_names(requests: list[dict[str, Any]], kind: str) -> None:
    tools = requests[0]["tools"]
    listed = tools[0]["functionDeclarations"] if kind == "gemini" else tools
    names = [tool.get("function", tool)["name"] for tool in listed if "name" in json.dumps(tool)]
    assert names == sorted(names)
