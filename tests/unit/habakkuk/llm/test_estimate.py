"""What a call may use at most is reckoned high rather than low."""

from __future__ import annotations

import pytest

from habakkuk.llm.estimate import most
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
    return most(MODEL, LlmRequest(system, (message,))).input


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
    assert most(MODEL, LlmRequest("", (), (tool,))).input > nothing


def test_a_lone_surrogate_is_measured_too() -> None:
    assert prompt(Text(text="\ud83d")) == 1


@pytest.mark.parametrize(
    ("model", "asked", "output"),
    [
        ("mine/m", 100, 100),
        ("mine/m", None, 8192),
        ("anthropic/claude-sonnet-5-5", None, 32_000),
        ("local/smollm2-135m-instruct", None, 200),
    ],
)
def test_the_output_is_what_the_model_may_write(model: str, asked: int | None, output: int) -> None:
    request = LlmRequest("", (), max_tokens=asked)
    assert most(ModelRef.parse(model), request).output == output
