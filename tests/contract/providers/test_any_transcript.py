"""Whatever stands in a transcript, every format sends what its service accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.agent.repair import repair
from habakkuk.llm.contract import Dialect, Profile
from habakkuk.llm.providers.anthropic import encode as anthropic
from habakkuk.llm.providers.gemini import encode as gemini
from habakkuk.llm.providers.openai import encode as openai
from habakkuk.llm.providers.responses import encode as responses
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Media,
    Message,
    ModelRef,
    Opaque,
    Payload,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.fakes.gemini_rules import gemini_violations
from tests.fakes.messages_rules import messages_violations
from tests.fakes.model_responses import searched, thought
from tests.fakes.responses_rules import responses_violations
from tests.fakes.transcript_rules import violations

MINE = ModelRef("mine", "m")
MODERN = Profile(thinking="level", efforts=("low", "high"), hosted_web=True)
Body = dict[str, Any]
ENCODERS: Mapping[str, tuple[Callable[[LlmRequest], Body], Callable[[Body], list[str]]]] = {
    "openai": (lambda asked: openai.request_body(asked, MODERN, Dialect()), violations),
    "anthropic": (lambda asked: anthropic.request_body(asked, MODERN, MINE), messages_violations),
    "responses": (
        lambda asked: responses.request_body(asked, MODERN, Dialect(), MINE, summaries=True),
        responses_violations,
    ),
    "gemini": (lambda asked: gemini.request_body(asked, MODERN, MINE), gemini_violations),
}
# What each format may hold of its own maker; the others must leave it out.
PRIVATE: Mapping[str, tuple[Body, ...]] = {
    "openai": (),
    "anthropic": (
        {"type": "redacted_thinking", "data": "U0VBTEVE"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ),
    "responses": (thought("hm", sealed="U0VBTEVE"), searched("weather")),
    "gemini": (
        {"text": "", "thoughtSignature": "U0VBTEVE"},
        {"toolCall": {"id": "s1"}, "thoughtSignature": "U0VBTEVE"},
    ),
}
WORDS = st.text(max_size=8)
IDS = st.sampled_from(["c1", "c2", "ü/1", "x" * 300])
MAKERS = st.sampled_from([("mine", "m"), ("mine", "old"), ("other", "m"), (None, None)])
SEALS = st.sampled_from([None, "U0VBTEVE"])


def private(kind: str) -> st.SearchStrategy[Block]:
    """Blocks of this format's own model, and of others."""
    own = [Opaque(provider="mine", model="m", data=data) for data in PRIVATE[kind]]
    alien = [Opaque(provider="other", data=data) for data in PRIVATE["responses"]]
    beside = Opaque(provider="mine", model="m", data={"beside_text": {"phase": "commentary"}})
    if kind == "gemini":
        beside = Opaque(
            provider="mine", model="m", data={"beside_text": {"thoughtSignature": "U0VBTEVE"}}
        )
    return st.sampled_from([*own, *alien, beside])


@st.composite
def thinking(draw: st.DrawFn) -> Thinking:
    provider, model = draw(MAKERS)
    return Thinking(text=draw(WORDS), signature=draw(SEALS), provider=provider, model=model)


@st.composite
def calls(draw: st.DrawFn) -> ToolCall:
    provider, model = draw(MAKERS)
    return ToolCall(
        id=draw(IDS), name="add", input={}, signature=draw(SEALS), provider=provider, model=model
    )


def transcripts(kind: str) -> st.SearchStrategy[list[Message]]:
    said = st.builds(Text, text=WORDS)
    files = st.sampled_from([Media(blob=name, mime="x/y", name="f") for name in ("i", "p", "none")])
    results = st.builds(ToolResult, call_id=IDS, text=WORDS, is_error=st.booleans())
    answer = st.lists(st.one_of(said, thinking(), calls(), private(kind)), max_size=5)
    asked = st.lists(st.one_of(said, files, results), max_size=4)
    messages = st.one_of(
        st.builds(Message, st.just(Role.USER), asked.map(tuple)),
        st.builds(Message, st.just(Role.ASSISTANT), answer.map(tuple)),
    )
    return st.lists(messages, max_size=7)


@pytest.mark.parametrize("kind", ENCODERS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_repaired_transcript_is_accepted(kind: str, data: st.DataObject) -> None:
    found = data.draw(transcripts(kind))
    # A turn always has something to answer: what the user said, or results.
    question = Message(Role.USER, (Text(text="and now?"),))
    payloads = {"i": Payload("image/png", b"png"), "p": Payload("application/pdf", b"pdf")}
    messages = repair((question, *found, question))
    encode, faults = ENCODERS[kind]
    body = encode(LlmRequest("Be brief.", messages, payloads=payloads))
    assert faults(body) == []
    # It can be written, whatever the words were.
    orjson.dumps(body)
