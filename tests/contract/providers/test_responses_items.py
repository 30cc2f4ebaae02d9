"""Items of Responses that go back: as they came, in their place, to who made them."""

from __future__ import annotations

import json

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import (
    BadRequest,
    Endpoint,
    Profile,
)
from habakkuk.llm.providers.responses.adapter import build
from habakkuk.llm.types import (
    Message,
    Opaque,
    Role,
    StopReason,
    Text,
    Thinking,
    ToolResult,
)
from tests.contract.providers.asking import Asking, request, said, stored, user
from tests.fakes.model_responses import (
    added,
    called,
    done,
    end,
    incomplete,
    reasoned,
    searched,
    spoken,
    start,
    thought,
)
from tests.fakes.model_script import Reply
from tests.fakes.model_server import ModelServer

THINKER = Profile(efforts=("low", "high"), hosted_web=True)
HI = spoken("Hi")
WIRE = Asking(build, (*start(), *HI, *end()))
ask, body = WIRE.ask, WIRE.body


def test_reasoning_goes_back_as_it_came_in_its_place(server: ModelServer) -> None:
    item = thought("hm", sealed="gAAAA-secret")
    first = ask(server, *start(), added(item), done(item), *called("c1", "{}", index=1), *end())
    assert [block.type for block in first.blocks] == ["thinking", "opaque", "tool_call"]
    talk = (
        said("hello"),
        Message(Role.ASSISTANT, stored(first.blocks)),
        user(ToolResult(call_id="c1", text="2")),
    )
    sent = body(server, request(*talk))["input"]
    assert sent[1] == item
    assert [one["type"] for one in sent[2:]] == ["function_call", "function_call_output"]


def test_reasoning_that_nothing_follows_is_left_out(server: ModelServer) -> None:
    item = thought("hm", sealed="gAAAA-secret")
    cut = ask(server, *start(), added(item), done(item), *incomplete("max_output_tokens"))
    assert cut.stop is StopReason.LENGTH
    talk = (said("hello"), Message(Role.ASSISTANT, cut.blocks), said("go on"))
    assert "secret" not in json.dumps(body(server, request(*talk)))


def test_reasoning_without_its_encrypted_content_is_only_shown(server: ModelServer) -> None:
    finished = ask(server, *start(), *reasoned("one", "two"), *spoken("Hi", index=1), *end())
    assert finished.blocks == (
        Thinking(text="one\n\ntwo", provider="mine"),
        Text(text="Hi"),
    )


def test_the_phase_of_a_text_goes_back_with_it(server: ModelServer) -> None:
    parts = [*spoken("Looking.", phase="commentary"), *called("c1", "{}", index=1)]
    first = ask(server, *start(), *parts, *end())
    assert first.blocks[0] == Text(text="Looking.")
    talk = (
        said("hello"),
        Message(Role.ASSISTANT, stored(first.blocks)),
        user(ToolResult(call_id="c1", text="2")),
    )
    sent = body(server, request(*talk))["input"]
    assert sent[1] == {
        "type": "message",
        "role": "assistant",
        "content": "Looking.",
        "phase": "commentary",
    }
    assert "phase" not in json.dumps(body(server, request(*talk), model="other"))


def test_a_search_goes_back_as_it_came(server: ModelServer) -> None:
    item = searched("weather")
    first = ask(server, *start(), added(item), done(item), *spoken("Rain.", index=1), *end())
    talk = (said("x"), Message(Role.ASSISTANT, stored(first.blocks)), said("y"))
    assert body(server, request(*talk))["input"][1] == item


def test_an_item_that_cannot_be_stored_to_the_letter_is_given_up_and_told(
    server: ModelServer,
) -> None:
    item = thought("a\x00", sealed="gAAAA")
    finished = ask(server, *start(), added(item), done(item), *spoken("Hi", index=1), *end())
    assert not any(isinstance(block, Opaque) for block in finished.blocks)
    assert any("reasoning" in notice for notice in finished.notices)


def refusing(server: ModelServer, message: str, param: str | None = None) -> None:
    """Refuse the first request with this error, and answer the next."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    refused = json.dumps({"error": error}).encode()
    server.script = lambda recorded: (
        Reply([refused], 400, content_type="application/json")
        if recorded.id == 0
        else Reply([*start(), *HI, *end()])
    )


def test_items_that_cannot_be_verified_are_left_out_in_one_more_request(
    server: ModelServer,
) -> None:
    refusing(server, "The encrypted content gAAA... could not be verified.")
    sealed = Opaque(provider="mine", model="m", data=thought("hm", sealed="gAAAA"))
    talk = (said("x"), Message(Role.ASSISTANT, (sealed, Text(text="Hi"))), said("y"))
    assert ask(server, asked=request(*talk)).blocks == (Text(text="Hi"),)
    assert "gAAAA" in json.dumps(server.requests[0].body)
    assert "gAAAA" not in json.dumps(server.requests[1].body)


def test_summaries_that_are_refused_are_not_asked_for_again(server: ModelServer) -> None:
    refusing(
        server,
        "Your organization must be verified to generate reasoning summaries.",
        "reasoning.summary",
    )
    provider = build(Endpoint("mine", server.base_url, "k"))
    for _ in range(2):
        list(provider.stream("m", request(effort="low"), THINKER, Interrupt()))
    provider.close()
    asked = [recorded.body["reasoning"] for recorded in server.requests]
    assert asked == [{"effort": "low", "summary": "auto"}, {"effort": "low"}, {"effort": "low"}]


def test_another_bad_request_is_not_repeated(server: ModelServer) -> None:
    refusing(server, "Unknown parameter: 'x'.")
    with pytest.raises(BadRequest, match="Unknown parameter"):
        ask(server)
    assert len(server.requests) == 1
