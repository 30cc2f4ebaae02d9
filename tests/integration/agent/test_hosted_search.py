"""A provider searches by itself: what it found is kept, and a pause within it is gone on with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_messages import block, delta, end, start, stop
from tests.fakes.model_script import Reply
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.stack import Stack

AGENTS = """
  searcher: {model: an/claude-sonnet-5-5, permissions: full}
"""
SEARCH = [
    block(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
    delta(0, "input_json", partial_json='{"query": "weather"}'),
    stop(0),
]


def script(request: Recorded) -> Reply:
    """Pause in the first search, before a word was said; answer when it is sent back."""
    if "srvtoolu_1" in json.dumps(request.body):
        said = [block(0, "text", text=""), delta(0, "text", text="It rains."), stop(0)]
        return Reply([start(), *said, *end()])
    return Reply([start(), *SEARCH, *end("pause_turn")])


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    model.script = script
    provider = f'  an: {{type: anthropic, base_url: "{model.base_url}", api_key_env: MINE_KEY}}'
    made = Stack(home, database_url, redis_url, model, AGENTS, provider)
    yield made
    made.close()


def test_a_pause_before_any_word_is_sent_back_and_gone_on_with(stack: Stack) -> None:
    stack.start()
    reply = stack.reply(stack.say("how is the weather?", agent="searcher"))
    assert reply.body == "It rains."
    assert len(stack.model.requests) == 2
