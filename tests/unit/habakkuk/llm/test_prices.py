"""What calls cost, by the config and by list prices; never nothing because nobody knows."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot

from habakkuk.core.config.schema import Config
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.prices import Prices
from habakkuk.llm.types import ModelRef, Usage

ADDRESSES = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "groq": "https://api.groq.com/openai/v1",
    "xai": "https://api.x.ai/v1",
    "mine": "http://127.0.0.1:9100/v1",
}
MILLION = Usage(1_000_000, 1_000_000)
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def prices(**config: Any) -> Prices:
    endpoints = {name: Endpoint(name, url, "k") for name, url in ADDRESSES.items()}
    return Prices(Config.model_validate(config), endpoints)


def cost(model: str, usage: Usage = MILLION, **config: Any) -> Decimal | None:
    return prices(**config).cost(ModelRef.parse(model), usage, AT)


# As the providers list them: https://platform.claude.com/docs/en/about-claude/pricing and
# https://platform.openai.com/docs/pricing (Claude Sonnet 4.5 up to 200,000 tokens, GPT-5 mini).
@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("anthropic/claude-sonnet-4-5", Usage(100_000, 10_000), "0.45"),
        ("anthropic/claude-sonnet-4-5", Usage(100_000, 10_000, cache_read=100_000), "0.18"),
        ("anthropic/claude-sonnet-4-5", Usage(100_000, 0, 0, 100_000), "0.375"),
        ("openai/gpt-5-mini", Usage(100_000, 10_000), "0.045"),
        ("openai/gpt-5-mini", Usage(100_000, 10_000, cache_read=50_000), "0.03375"),
    ],
)
def test_list_prices_are_those_of_the_providers(model: str, usage: Usage, dollars: str) -> None:
    assert cost(model, usage) == Decimal(dollars)


# The same pages, and https://ai.google.dev/gemini-api/docs/pricing, for a thousand searches.
@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("anthropic/claude-sonnet-4-5", "10"),
        ("openai/gpt-5.4", "10"),
        ("gemini/gemini-2.5-pro", "35"),
        ("gemini/gemini-3-pro-preview", "14"),
        # Nothing is billed for one's own server.
        ("local/smollm2-135m-instruct", "0"),
    ],
)
def test_searches_of_the_provider_s_own_cost_what_it_lists(model: str, dollars: str) -> None:
    assert cost(model, Usage(searches=1_000)) == Decimal(dollars)


@pytest.mark.parametrize(("search", "dollars"), [({"search": 25}, "25"), ({}, "10")])
def test_a_price_of_the_config_may_name_searches(search: dict[str, int], dollars: str) -> None:
    own = {"anthropic/": {"input": 0, "output": 0, **search}}
    found = cost("anthropic/claude-sonnet-4-5", Usage(500, 500, searches=1_000), pricing=own)
    assert found == Decimal(dollars)


def test_searches_of_a_model_that_is_not_listed_cost_what_its_format_s_maker_takes() -> None:
    own = {"mine/m": {"input": 0, "output": 0}}
    assert cost("mine/m", Usage(searches=1_000), pricing=own) == 10


def test_thinking_is_part_of_the_output_and_counted_once() -> None:
    with_thinking = cost("openai/gpt-5-mini", Usage(0, 10_000, reasoning=9_000))
    assert with_thinking == cost("openai/gpt-5-mini", Usage(0, 10_000))


@pytest.mark.parametrize("prompt", [1_000, 150_000, 250_000, 600_000])
def test_the_table_is_read_as_its_makers_read_it(prompt: int) -> None:
    """Every model of some services, on both sides of every step of its price."""
    usage = Usage(prompt, 3_000, prompt // 2, prompt // 10)
    counted = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    table = {provider.id: provider for provider in get_snapshot().providers}
    ours = prices()
    compared = 0
    for name, listed in {"anthropic": "anthropic", "openai": "openai", "xai": "x-ai"}.items():
        for info in table[listed].models:
            price = info.get_prices(AT)
            if price.input_mtok is None or price.input_audio_mtok is not None:
                continue
            theirs = info.calc_price(counted, table[listed], genai_request_timestamp=AT)
            found = ours.cost(ModelRef(name, info.id), usage, AT)
            if ours._find(ModelRef(name, info.id)) is info:
                assert found == theirs.total_price.quantize(Decimal("1e-8")), info.id
                compared += 1
    assert compared > 50


def test_an_unknown_price_is_none_and_not_nothing() -> None:
    assert cost("mine/no-such-model") is None
    assert cost("openai/no-such-model") is None
    assert cost("nowhere/no-such-model") is None


def test_an_open_model_on_a_server_of_ones_own_has_no_list_price() -> None:
    assert cost("groq/openai/gpt-oss-120b") is not None
    assert cost("mine/openai/gpt-oss-120b") is None


@pytest.mark.parametrize(
    "model",
    [
        "mine/claude-sonnet-4-5",
        "mine/anthropic/claude-sonnet-4-5",
        "mine/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "mine/global.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
def test_what_gateways_and_regions_put_before_a_name_is_passed_over(model: str) -> None:
    assert cost(model) == cost("anthropic/claude-sonnet-4-5")


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "llamacpp", "vllm", "local"])
def test_servers_of_ones_own_cost_nothing(provider: str) -> None:
    assert cost(f"{provider}/some-model") == 0
    assert prices().is_free(ModelRef(provider, "some-model"))


def test_a_provider_with_a_keyless_preset_costs_nothing() -> None:
    config: dict[str, Any] = {
        "providers": {"box": {"preset": "vllm", "base_url": "http://10.0.0.5:8000/v1"}}
    }
    assert cost("box/gpt-5", **config) == 0


def test_a_provider_that_only_has_the_name_of_a_preset_is_not_that() -> None:
    config: dict[str, Any] = {
        "providers": {"vllm": {"type": "openai", "base_url": "http://10.0.0.5:8000/v1"}}
    }
    assert cost("vllm/some-model", **config) is None


def test_the_config_comes_before_the_table() -> None:
    pricing = {"gpt-5-mini": {"input": 1, "output": 2.5}}
    assert cost("openai/gpt-5-mini", pricing=pricing) == Decimal("3.5")
    assert cost("openrouter/openai/gpt-5-mini", pricing=pricing) == Decimal("3.5")


def test_the_longest_beginning_holds() -> None:
    pricing = {
        "*": {"input": 1, "output": 0},
        "mine/*": {"input": 2, "output": 0},
        "mine/big": {"input": 3, "output": 0},
    }
    found = [cost(f"{name}", pricing=pricing) for name in ("x/y", "mine/small", "mine/big-2")]
    assert found == [1, 2, 3]


def test_case_does_not_matter_in_names() -> None:
    assert cost("mine/Big", pricing={"MINE/big": {"input": 1, "output": 0}}) == 1


def test_cached_tokens_cost_what_others_do_unless_the_config_says() -> None:
    usage = Usage(1_000_000, 0, 400_000, 100_000)
    plain = {"mine/m": {"input": 10, "output": 0}}
    said = {"mine/m": {"input": 10, "output": 0, "cache_read": 1, "cache_write": 20}}
    assert cost("mine/m", usage, pricing=plain) == 10
    assert cost("mine/m", usage, pricing=said) == Decimal("7.4")


@pytest.mark.parametrize(("prompt", "dollars"), [(200_000, "0.2"), (200_001, "0.400002")])
def test_a_long_prompt_costs_more_for_all_of_it(prompt: int, dollars: str) -> None:
    price = {"input": 1, "output": 1, "long": {"above": 200_000, "input": 2, "output": 2}}
    assert cost("mine/m", Usage(prompt, 0), pricing={"mine/m": price}) == Decimal(dollars)


def test_amounts_are_what_is_written_and_no_float() -> None:
    pricing = {"mine/m": {"input": 0.1, "output": 0.2}}
    assert cost("mine/m", pricing=pricing) == Decimal("0.3")


def test_a_count_of_more_cached_tokens_than_tokens_makes_nothing_cheaper() -> None:
    pricing = {"mine/m": {"input": 10, "output": 0, "cache_read": 1}}
    assert cost("mine/m", Usage(0, 0, 1_000_000), pricing=pricing) == 1


def test_a_price_of_nothing_in_the_config_is_known() -> None:
    own = prices(pricing={"mine/": {"input": 0, "output": 0}})
    assert own.is_free(ModelRef("mine", "m"))
    assert own.is_known(ModelRef("mine", "m"))
    assert not own.is_known(ModelRef("openai", "no-such-model"))


def test_the_table_is_not_loaded_for_what_the_config_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert cost("mine/m", pricing={"mine/m": {"input": 1, "output": 1}}) == 2
    assert cost("ollama/m") == 0


def test_rates_are_those_of_short_prompts() -> None:
    price = {"input": 1, "output": 2, "long": {"above": 200_000, "input": 3, "output": 4}}
    found = prices(pricing={"mine/m": price}).rates(ModelRef("mine", "m"))
    assert found is not None
    assert [found.input, found.output, found.cache_read] == [1, 2, 1]
    assert prices().rates(ModelRef("mine", "m")) is None
