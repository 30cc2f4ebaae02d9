"""What a model made for itself goes back to it as it came, and to nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from habakkuk.llm.contract import Profile
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Message,
    ModelRef,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    blocks_from_json,
    blocks_to_json,
)
from tests.contract.providers.conftest import Bench
from tests.contract.providers.wires import WIRES, knowing
from tests.fakes.model_server import ModelServer

# "SEALED" in base64; also what the Chat Completions wire has in its reasoning.
SEALS = ("U0VBTEVE", "SEALED")
# With calls the turn goes on by their results alone.
ANSWERS = [
    (kind, scenario, more)
    for scenario in ("private", "hosted", "two calls", "talk around a search")
    for kind in knowing(scenario)
    for more in (("and now?", "") if scenario in ("private", "two calls") else ("and now?",))
]
MODERN = Profile(thinking="level", efforts=("low", "high"), hosted_web=True)


def talk(blocks: tuple[Block, ...], more: str = "and now?") -> LlmRequest:
    """Return a stored conversation with this answer, its calls' results and what was said then."""
    stored = blocks_from_json(json.loads(json.dumps(blocks_to_json(blocks))))
    results = [
        ToolResult(call_id=block.id, text="2") for block in stored if isinstance(block, ToolCall)
    ]
    messages = (
        Message(Role.USER, (Text(text="hello"),)),
        Message(Role.ASSISTANT, stored),
        Message(Role.USER, (*results, *([Text(text=more)] if more else []))),
    )
    return LlmRequest("Be brief.", messages)


def answered(bench: Bench) -> tuple[Block, ...]:
    return bench.ask("private")[1].blocks


def sent(bench: Bench, request: LlmRequest, model: str = "m") -> str:
    """Return the body of a request for this conversation, which the service accepts."""
    bench.ask("text", request, model=model, profile=MODERN)
    assert bench.server.violations == []
    return json.dumps(bench.server.requests[-1].body)


def test_it_goes_back_to_its_model(bench: Bench) -> None:
    blocks = answered(bench)
    body = sent(bench, talk(blocks))
    if bench.endpoint.type == "openai":
        # The format has no place for it.
        assert not any(seal in body for seal in SEALS)
    else:
        assert "U0VBTEVE" in body


def test_another_model_of_the_same_provider_gets_none_of_it(bench: Bench) -> None:
    body = sent(bench, talk(answered(bench)), model="other")
    assert not any(seal in body for seal in SEALS)


@pytest.mark.parametrize("provider", ["other", "mine"])
def test_blocks_of_another_format_are_left_out(bench: Bench, provider: str) -> None:
    foreign = ModelRef(provider, "another")
    made: dict[str, Any] = {"provider": foreign.provider, "model": foreign.model}
    blocks: tuple[Block, ...] = (
        Thinking(text="SEALED", signature="U0VBTEVE", **made),
        Opaque(data={"type": "reasoning", "encrypted_content": "U0VBTEVE"}, **made),
        Opaque(data={"beside_text": {"phase": "SEALED"}}, **made),
        ToolCall(id="c", name="add", input={}, signature="U0VBTEVE", **made),
        Text(text="Hi"),
        Opaque(data={"beside_text": {"phase": "SEALED"}}, **made),
    )
    body = sent(bench, talk(blocks))
    assert not any(seal in body for seal in SEALS)
    assert "Hi" in body


@pytest.mark.parametrize(("origin", "scenario", "more"), ANSWERS)
def test_an_answer_of_any_format_goes_on_in_any_other(
    bench: Bench, origin: str, scenario: str, more: str
) -> None:
    with ModelServer() as server:
        other = Bench(origin, WIRES[origin], server)
        _, finished = other.ask(scenario, name="origin")
    body = sent(bench, talk(finished.blocks, more))
    assert not any(seal in body for seal in SEALS)
    said = "".join(block.text for block in finished.blocks if isinstance(block, Text))
    assert said[:6] in body


@pytest.mark.parametrize("call_id", ["x" * 200, "späße/1", "functions.add:0", "a" * 64])
def test_ids_of_others_are_sent_as_the_service_takes_them(bench: Bench, call_id: str) -> None:
    sent(bench, talk((ToolCall(id=call_id, name="add", input={}),)))


def test_the_same_conversation_is_the_same_to_the_byte_however_it_was_stored(
    bench: Bench,
) -> None:
    """A database gives the keys of an object back in an order of its own."""
    call = ToolCall(id="c", name="add", input={"zebra": 1, "a": {"y": 1, "b": 2}})
    other = ToolCall(id="c", name="add", input={"a": {"b": 2, "y": 1}, "zebra": 1})
    sent(bench, talk((call,)))
    sent(bench, talk((other,)))
    first, second = bench.server.requests[-2:]
    assert json.dumps(first.body) == json.dumps(second.body)
