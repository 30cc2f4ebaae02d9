"""Facts about models."""

from __future__ import annotations

import pytest

from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.types import ModelRef


def test_the_bundled_model_gets_no_tools_a_short_prompt_and_a_short_answer() -> None:
    profile = profile_for(ModelRef("local", "smollm2-135m-instruct"))
    assert not profile.tools
    assert profile.notes
    assert profile.simple_prompt
    assert "\n" not in profile.simple_prompt
    assert profile.temperature == 0.2
    assert profile.max_tokens == 200
    assert profile.max_tokens_field == "max_tokens"


@pytest.mark.parametrize("model", ["gpt-6-sol", "gpt-5-mini", "o3", "openai/gpt-6.1-terra"])
def test_openai_models_take_max_completion_tokens(model: str) -> None:
    assert profile_for(ModelRef("p", model)).max_tokens_field == "max_completion_tokens"


@pytest.mark.parametrize("model", ["openai/gpt-oss-120b", "grok-4.7", "omni", "SmolLM2-1.7B"])
def test_others_take_max_tokens_and_tools(model: str) -> None:
    profile = profile_for(ModelRef("p", model))
    assert profile.max_tokens_field == "max_tokens"
    assert profile.tools


@pytest.mark.parametrize(
    ("model", "thinking", "effort"),
    [
        ("claude-sonnet-5-5", "adaptive", True),
        ("claude-opus-5", "adaptive", True),
        ("claude-fable-5-2", "adaptive", True),
        ("claude-opus-4-8", "adaptive", True),
        ("claude-sonnet-4-6", "adaptive", True),
        ("claude-opus-4-5-20251101", None, True),
        ("claude-haiku-4-5-20251001", None, False),
        ("claude-sonnet-4-5", None, False),
        ("some-model", None, False),
    ],
)
def test_claude_models_are_asked_for_what_each_takes(
    model: str, thinking: str | None, effort: bool
) -> None:
    profile = profile_for(ModelRef("anthropic", model))
    assert (profile.thinking, bool(profile.efforts)) == (thinking, effort)


def test_thinking_has_room_beside_the_answer() -> None:
    assert profile_for(ModelRef("anthropic", "claude-sonnet-5-5")).default_max_tokens == 32_000


def test_no_number_is_forced_on_formats_that_demand_none() -> None:
    assert profile_for(ModelRef("openrouter", "anthropic/claude-sonnet-5.5")).max_tokens is None
