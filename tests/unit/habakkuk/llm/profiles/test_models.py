"""Facts about models."""

from __future__ import annotations

import pytest

from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.types import ModelRef


def test_the_bundled_model_gets_no_tools_a_short_prompt_and_a_short_answer() -> None:
    profile = profile_for(ModelRef("local", "smollm2-135m-instruct"))
    assert not profile.tools
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
