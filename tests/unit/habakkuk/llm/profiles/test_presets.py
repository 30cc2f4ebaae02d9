"""The table of services."""

from __future__ import annotations

from habakkuk.llm.profiles.presets import PRESETS
from habakkuk.llm.registry import provider_types

SERVICES = [
    "anthropic",
    "openai",
    "openrouter",
    "groq",
    "deepseek",
    "mistral",
    "xai",
    "together",
    "cerebras",
    "fireworks",
    "gemini",
    "moonshot",
    "zai",
    "zhipu",
    "minimax",
    "qwen",
    "cohere",
    "perplexity",
    "deepinfra",
    "nebius",
    "novita",
    "baseten",
    "sambanova",
    "siliconflow",
    "nvidia",
    "vercel",
    "ovhcloud",
    "scaleway",
    "xiaomi",
    "stepfun",
    "upstage",
    "inception",
    "huggingface",
    "venice",
    "friendli",
    "chutes",
]
TWINS = ["openai-chat", "gemini-openai"]
LOCAL = [
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "sglang",
    "litellm",
    "localai",
    "koboldcpp",
    "jan",
    "textgen",
    "gpt4all",
    "docker",
]
# Their keys open more than models, or nothing says which model everyone there may use.
TO_BE_NAMED = {"huggingface", "venice", "friendli", "chutes"}


def test_the_order_is_fixed_services_before_local_servers() -> None:
    assert list(PRESETS) == SERVICES + TWINS + LOCAL


def test_a_service_in_another_format_is_never_chosen_by_its_key_alone() -> None:
    assert all(PRESETS[name].type == "openai" for name in TWINS)
    assert not any(PRESETS[name].default_model for name in TWINS)


def test_at_least_thirty_services_need_nothing_but_a_key() -> None:
    assert sum(bool(preset.default_model) for preset in PRESETS.values()) >= 30


def test_every_service_has_a_key_variable() -> None:
    assert all(PRESETS[name].api_key_env for name in SERVICES)


def test_services_without_a_default_model_are_those_where_one_must_be_named() -> None:
    assert {name for name in SERVICES if not PRESETS[name].default_model} == TO_BE_NAMED


def test_key_variables_are_not_shared() -> None:
    variables = [PRESETS[name].api_key_env for name in SERVICES]
    assert len(set(variables)) == len(SERVICES)


def test_services_are_reached_over_tls_and_local_servers_on_loopback() -> None:
    assert all(PRESETS[name].base_url.startswith("https://") for name in SERVICES)
    assert all(PRESETS[name].base_url.startswith("http://127.0.0.1:") for name in LOCAL)


def test_local_servers_need_no_key() -> None:
    assert all(PRESETS[name].keyless for name in LOCAL)


def test_every_type_has_a_package() -> None:
    assert {preset.type for preset in PRESETS.values()} <= set(provider_types())
