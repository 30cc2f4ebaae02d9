"""What a call may use at most is reckoned high rather than low."""

from __future__ import annotations

import pytest

from habakkuk.llm.estimate import reckon
from habakkuk.llm.types import (
    LlmRequest,
    Media,
    Message,
    ModelRef,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)

MODEL = ModelRef("mine", "m")


def prompt(*blocks: object, system: str = "") -> int:
    message = Message(Role.USER, blocks)  # type: ignore[arg-type] # - any block
    return reckon(MODEL, LlmRequest(system, (message,))).most.input


def test_three_bytes_are_a_token() -> None:
    assert prompt(Text(text="four"), system="ab") == 2
    assert prompt(Text(text="収穫")) == 2


def test_everything_that_is_sent_counts() -> None:
    nothing = prompt()
    for block in (
        Thinking(text="thinking of it", signature="signed"),
        ToolCall(id="c", name="look", input={"path": "a"}),
        ToolResult(call_id="c", text="found it there"),
        Opaque(provider="p", data={"some": "thing"}),
        Media(blob="b", mime="image/png"),
    ):
        assert prompt(block) > nothing
    tool = ToolSpec("look", "Look at it.", {"type": "object"})
    assert reckon(MODEL, LlmRequest("", (), (tool,))).most.input > nothing


def test_a_lone_surrogate_is_measured_too() -> None:
    assert prompt(Text(text="\ud83d")) == 1


@pytest.mark.parametrize(
    ("model", "asked", "output"),
    [
        ("mine/m", 100, 100),
        ("mine/m", None, 8192),
        ("anthropic/claude-sonnet-5-5", None, 32_000),
        # https://developers.openai.com/api/docs/models and ai.google.dev/gemini-api/docs/models
        ("openai/gpt-5.4", None, 128_000),
        ("openai/gpt-4.1-mini", None, 32_768),
        ("openai/gpt-4o", None, 16_384),
        ("gemini/gemini-2.5-pro", None, 65_536),
        ("local/smollm2-135m-instruct", None, 200),
    ],
)
def test_the_output_is_what_the_model_may_write(model: str, asked: int | None, output: int) -> None:
    request = LlmRequest("", (), max_tokens=asked)
    assert reckon(ModelRef.parse(model), request).most.output == output


@pytest.mark.parametrize(
    ("model", "searches"), [("anthropic/claude-sonnet-5-5", 10), ("mine/m", 0)]
)
def test_a_model_that_may_search_is_reckoned_to(model: str, searches: int) -> None:
    ref = ModelRef.parse(model)
    assert reckon(ref, LlmRequest("", (), web=True)).most.searches == searches
    assert reckon(ref, LlmRequest("", ())).most.searches == 0


def test_the_output_is_within_the_window_beside_the_prompt() -> None:
    """GPT-4o has 128,000 tokens for both, and refuses a call that wants more."""
    full = LlmRequest("x" * 3 * 120_000, ())
    assert reckon(ModelRef("openai", "gpt-4o"), full).most.output == 8_192
    nearly = LlmRequest("x" * 3 * 115_000, ())
    assert reckon(ModelRef("openai", "gpt-4o"), nearly).most.output == 13_000


@pytest.mark.parametrize(("effort", "least"), [(None, 8_192), ("low", 8_192), ("high", 32_768)])
def test_who_is_to_think_hard_is_given_room_for_it(effort: str | None, least: int) -> None:
    """Gemini 2.5 thinks up to 24,576 tokens then, and they are part of what it may write."""
    request = LlmRequest("", (), effort=effort)
    assert reckon(ModelRef("gemini", "gemini-2.5-pro"), request).least_output == least


@pytest.mark.parametrize(("asked", "least"), [(None, 8_192), (50_000, 50_000), (100, 100)])
def test_a_limit_of_the_request_is_not_lowered_for_a_budget(asked: int | None, least: int) -> None:
    reckoned = reckon(ModelRef("openai", "gpt-5.4"), LlmRequest("", (), max_tokens=asked))
    assert reckoned.least_output == least
