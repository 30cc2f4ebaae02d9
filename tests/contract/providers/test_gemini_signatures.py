"""Gemini's thought signatures: each goes back where it came, to who made it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from habakkuk.llm.contract import (
    BadRequest,
    Profile,
)
from habakkuk.llm.providers.gemini.adapter import build
from habakkuk.llm.types import (
    LlmRequest,
    Message,
    Role,
    StopReason,
    Text,
    Thinking,
    ToolCall,
)
from tests.contract.providers.asking import Asking, request, said, talk
from tests.fakes.model_gemini import (
    as_bytes,
    call,
    chunk,
    end,
    error_body,
    text,
    thought,
)
from tests.fakes.model_script import Reply
from tests.fakes.model_server import ModelServer

WIRE = Asking(build, end(text("Hi")))
ask, body = WIRE.ask, WIRE.body
LEVEL = Profile(thinking="level", efforts=("minimal", "low", "high"), hosted_web=True)
BUDGET = Profile(thinking="budget", efforts=("none", "low", "medium", "high"), hosted_web=True)
SIGNED = {"thoughtSignature": "c2lnbmVk"}
UNSIGNED = "skip_thought_signature_validator"


def test_a_calls_signature_goes_back_on_it(server: ModelServer) -> None:
    calls = (call("c1", {}, **SIGNED), call("c2", {}))
    first = ask(server, chunk(*calls), *end())
    assert first.stop is StopReason.TOOL_USE
    parts = body(server, talk(*first.blocks), profile=LEVEL)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["c2lnbmVk", None]


def test_calls_of_other_models_carry_the_documented_value(server: ModelServer) -> None:
    others = (
        ToolCall(id="c1", name="add", input={}, signature="x", provider="mine", model="old"),
        ToolCall(id="c2", name="add", input={}),
    )
    parts = body(server, talk(*others), profile=LEVEL)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [UNSIGNED, None]


def test_what_was_sent_for_a_call_stays_when_the_turn_is_over(server: ModelServer) -> None:
    open_turn = talk(ToolCall(id="c1", name="add", input={}))
    ended = (*open_turn.messages, Message(Role.ASSISTANT, (Text(text="2"),)), said("thanks"))
    first = body(server, open_turn, profile=LEVEL)["contents"]
    assert body(server, request(*ended), profile=LEVEL)["contents"][: len(first)] == first


def test_older_models_need_no_such_value(server: ModelServer) -> None:
    sent = body_unchecked(server, talk(ToolCall(id="c1", name="add", input={})), BUDGET)
    assert UNSIGNED not in json.dumps(sent)


def body_unchecked(server: ModelServer, asked: LlmRequest, profile: Profile) -> dict[str, Any]:
    """Return what is sent to a model that is less strict than the fake."""
    with suppress(BadRequest):
        ask(server, *end(text("Hi")), asked=asked, profile=profile)
    return server.requests[0].body


def test_a_signature_on_a_text_goes_back_on_it(server: ModelServer) -> None:
    first = ask(server, chunk(text("Hel")), *end(text("lo", **SIGNED)))
    assert [b.text for b in first.blocks if isinstance(b, Text)] == ["Hel", "lo"]
    parts = body(server, talk(*first.blocks))["contents"][1]["parts"]
    # Parts with a signature are not merged with parts without one.
    assert parts == [{"text": "Hel"}, {"text": "lo", **SIGNED}]
    others = body(server, talk(*first.blocks), model="other")["contents"][1]["parts"]
    assert others == [{"text": "Hel"}, {"text": "lo"}]


@pytest.mark.parametrize("last", [text("", **SIGNED), dict(SIGNED)])
def test_a_signature_alone_goes_back_on_an_empty_text(
    server: ModelServer, last: dict[str, Any]
) -> None:
    first = ask(server, chunk(text("Hi")), *end(last))
    assert [block.type for block in first.blocks] == ["text", "opaque"]
    parts = body(server, talk(*first.blocks))["contents"][1]["parts"]
    assert parts == [{"text": "Hi"}, {"text": "", **SIGNED}]


def test_signed_thoughts_go_back_and_others_do_not(server: ModelServer) -> None:
    pieces = (chunk(thought("h")), chunk(thought("m")), chunk(thought("", **SIGNED)))
    first = ask(server, *pieces, *end(text("Hi")))
    assert first.blocks[:2] == (
        Thinking(text="hm", provider="mine"),
        Thinking(text="", signature="c2lnbmVk", provider="mine", model="m"),
    )
    parts = body(server, talk(*first.blocks))["contents"][1]["parts"]
    assert parts == [{"text": "", "thought": True, **SIGNED}, {"text": "Hi"}]


def refusing(server: ModelServer, refused: Reply) -> None:
    server.script = lambda recorded: refused if recorded.id == 0 else Reply(end(text("Hi")))


@pytest.mark.parametrize(
    "refused",
    [
        Reply(
            [as_bytes(error_body(400, "INVALID_ARGUMENT", "Thought signature is not valid."))],
            400,
            content_type="application/json",
        ),
        Reply(end(reason="MISSING_THOUGHT_SIGNATURE")),
    ],
)
def test_refused_signatures_are_left_out_in_one_more_request(
    server: ModelServer, refused: Reply
) -> None:
    refusing(server, refused)
    signed = ToolCall(
        id="c", name="add", input={}, signature="c2lnbmVk", provider="mine", model="m"
    )
    assert ask(server, asked=talk(signed), profile=LEVEL).blocks == (Text(text="Hi"),)
    first, second = (json.dumps(recorded.body) for recorded in server.requests)
    assert "c2lnbmVk" in first
    assert "c2lnbmVk" not in second
    assert UNSIGNED in second


def test_what_was_shown_is_not_asked_for_again(server: ModelServer) -> None:
    signed = ToolCall(
        id="c", name="add", input={}, signature="c2lnbmVk", provider="mine", model="m"
    )
    parts = (chunk(text("Hi")), *end(reason="MISSING_THOUGHT_SIGNATURE"))
    with pytest.raises(BadRequest):
        ask(server, *parts, asked=talk(signed), profile=LEVEL)
    assert len(server.requests) == 1


def test_a_missing_signature_where_there_is_none_to_leave_out_is_told(server: ModelServer) -> None:
    with pytest.raises(BadRequest, match="thought_signature"):
        ask(server, *end(reason="MISSING_THOUGHT_SIGNATURE"))
    assert len(server.requests) == 1
