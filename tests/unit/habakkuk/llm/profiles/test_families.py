"""Facts about families of models, against the table of an independent package."""

from __future__ import annotations

import re

import pytest
from genai_prices.data import providers
from genai_prices.types import ModelInfo

from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.types import EFFORTS, ModelRef

MAKERS = ("anthropic", "openai", "google", "x-ai", "moonshotai", "zai", "deepseek", "mistral")
# What answers no chat, and what was gone before Habakkuk came.
NO_CHAT = re.compile(
    r"embed|whisper|tts|transcri|ocr|moderation|audio|realtime|image|live|computer-use|instruct"
    r"|voxtral|davinci|babbage|claude-(2|v1)"
)


def _listed() -> list[tuple[str, ModelInfo]]:
    return [
        (provider.id, model)
        for provider in providers
        if provider.id in MAKERS
        for model in provider.models
        if model.context_window and not NO_CHAT.search(model.id)
    ]


@pytest.mark.parametrize(("maker", "model"), _listed(), ids=lambda part: getattr(part, "id", part))
def test_a_maker_s_model_is_known_and_its_window_not_overstated(
    maker: str, model: ModelInfo
) -> None:
    profile = profile_for(ModelRef(maker, model.id))
    assert profile.known
    assert profile.context_window is not None
    # Some write a million where others write 1,048,576.
    assert profile.context_window <= (model.context_window or 0) * 1.05


def test_an_unknown_model_is_treated_carefully_and_says_so() -> None:
    profile = profile_for(ModelRef("mine", "homegrown-7b"))
    assert not profile.known
    assert (profile.vision, profile.documents, profile.hosted_web) == (False, False, False)
    assert profile.efforts == ()
    assert profile.context_window == 32_768


@pytest.mark.parametrize(
    ("model", "efforts"),
    [
        ("gpt-6-astra", "low medium high xhigh max"),
        ("gpt-5.6-sol", "none low medium high xhigh max"),
        ("gpt-5.4", "none low medium high xhigh"),
        ("gpt-5.1", "none low medium high"),
        ("gpt-5-mini", "minimal low medium high"),
        ("gpt-5-pro", "high"),
        ("o4-mini", "low medium high"),
        ("gpt-4o", ""),
        ("gpt-oss:20b", "low medium high"),
        ("claude-opus-4-5", "low medium high"),
        ("claude-opus-4.6", "low medium high max"),
        ("claude-opus-4-8", "low medium high xhigh max"),
        ("grok-4.7", "low medium high xhigh"),
        ("gemini-3.8-flash", "low medium high"),
        ("gemini-3-pro-preview", "low high"),
        ("gemini-2.5-flash", "none low medium high"),
    ],
)
def test_a_model_has_the_levels_of_effort_that_its_maker_documents(
    model: str, efforts: str
) -> None:
    found = profile_for(ModelRef("p", model)).efforts
    assert found == tuple(efforts.split())
    assert list(found) == sorted(found, key=EFFORTS.index)


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("gemini-2.0-flash", None),
        ("gemini-2.5-pro", "budget"),
        ("gemini-2.5-flash-lite", "budget"),
        ("gemini-3-flash-preview", "level"),
        ("gemini-3.8-flash", "level"),
        ("gemini-4-argon", "level"),
    ],
)
def test_gemini_thinks_by_budget_before_three_and_by_level_from_then_on(
    model: str, thinking: str | None
) -> None:
    assert profile_for(ModelRef("gemini", model)).thinking == thinking


@pytest.mark.parametrize(
    ("model", "vision", "documents"),
    [
        ("claude-sonnet-5-5", True, True),
        ("gpt-6-sol", True, True),
        ("gpt-4-turbo", True, False),
        ("o3-mini", False, False),
        ("gpt-3.5-turbo", False, False),
        ("gemini-3.8-flash", True, True),
        ("grok-4.7", True, False),
        ("kimi-k3", True, False),
        ("deepseek-v4-flash", False, False),
        ("glm-5.3", False, False),
        ("glm-4.5v", True, False),
        ("llama3.2-vision:11b", True, False),
        ("llama3.2", False, False),
        ("qwen3-vl:8b", True, False),
        ("qwen3:8b", False, False),
        ("gemma3:4b", True, False),
        ("gemma3:1b", False, False),
        ("gpt-oss-120b", False, False),
    ],
)
def test_a_model_is_sent_images_and_pdfs_only_where_it_reads_them(
    model: str, vision: bool, documents: bool
) -> None:
    profile = profile_for(ModelRef("p", model))
    assert (profile.vision, profile.documents) == (vision, documents)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("accounts/fireworks/models/kimi-k2p6", "kimi-k2.6"),
        ("anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "llama-3.3-70b-versatile"),
        ("openai/gpt-oss-120b:free", "gpt-oss-120b"),
        ("ft:gpt-4o-mini-2024-07-18:mine::abc", "gpt-4o-mini"),
    ],
)
def test_a_model_is_known_however_a_service_writes_its_name(written: str, same_as: str) -> None:
    profile = profile_for(ModelRef("p", written))
    assert profile.known
    assert profile == profile_for(ModelRef("p", same_as))


def test_claude_3_may_answer_only_as_much_as_it_can() -> None:
    assert profile_for(ModelRef("anthropic", "claude-3-haiku-20240307")).default_max_tokens == 4096


def test_models_that_refuse_tools_get_none() -> None:
    assert not profile_for(ModelRef("perplexity", "sonar-pro")).tools


@pytest.mark.parametrize(
    ("model", "unthinking"),
    [
        ("gpt-6-sol", True),
        ("gpt-5.6-terra", True),
        ("gpt-5.5", True),
        ("gpt-5.4-mini", True),
        ("gpt-5.2", False),
        ("gpt-5.1", False),
        ("gpt-5-mini", False),
        ("gpt-4o", False),
        ("gpt-7", True),
        ("gpt-oss-120b", False),
    ],
)
def test_from_5_4_on_openai_s_models_think_or_call_functions_in_chat_completions(
    model: str, unthinking: bool
) -> None:
    assert profile_for(ModelRef("p", model)).chat_tools_unthinking == unthinking
