"""What model calls cost: as the config says, else by a table of list prices that needs no network.

The table is the package genai-prices, which could fetch a newer one: it is never asked to. An
unknown price is None and said as such; nothing is ever counted as free because nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from habakkuk.core.config.schema import Config, PriceConfig, RatesConfig
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.profiles.models import LOCAL_PROVIDER
from habakkuk.llm.profiles.presets import PRESETS
from habakkuk.llm.types import ModelRef, Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

_MILLION = 1_000_000
# As exact as the ledger's column.
_SMALLEST = Decimal("0.00000001")
# These ask for no key, and pass calls on to services that send a bill.
_GATEWAYS = frozenset({"litellm"})
# Inference profiles of Bedrock begin with where they run.
_REGION = re.compile(r"(?:us-gov|us|eu|apac|global|jp|au|ca)\.(?=[a-z])")
# Whose models cost the same whoever passes them on. What an open model costs depends on its host.
_VENDORS = (
    (re.compile(r"(?:anthropic\.)?claude-"), "anthropic"),
    (re.compile(r"gpt-(?!oss)|chatgpt-|o\d"), "openai"),
    (re.compile(r"gemini-"), "google"),
    (re.compile(r"grok-"), "x-ai"),
)

_NOTHING = Decimal(0)
# Less than any prompt has: a tier for all of them.
_ANY = -1
_KINDS = (
    "input_mtok",
    "output_mtok",
    "cache_read_mtok",
    "cache_write_mtok",
    "requests_kcount",
    "web_searches_kcount",
)
# USD for a thousand searches, of models that the table knows no price of: by the format in which
# they are asked for. https://platform.claude.com/docs/en/about-claude/pricing,
# https://developers.openai.com/api/docs/pricing and https://ai.google.dev/gemini-api/docs/pricing.
_SEARCHES = {"anthropic": Decimal(10), "responses": Decimal(10), "gemini": Decimal(14)}
_SEARCHES_ELSEWHERE = Decimal(10)


@dataclass(frozen=True)
class Rates:
    """USD for a million tokens of each kind, for a million calls, and for a thousand searches.

    `search` is None where only who serves the model decides it.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    call: Decimal = _NOTHING
    search: Decimal | None = None

    def cost(self, usage: Usage) -> Decimal:
        """Return what these tokens cost in USD, without searches."""
        plain = usage.input - usage.cache_read - usage.cache_write
        total = (
            self.input * plain
            + self.cache_read * usage.cache_read
            + self.cache_write * usage.cache_write
            + self.output * usage.output
            + self.call
        )
        return total / _MILLION


# Rates with the length of the prompt above which they hold for all tokens, the shortest first.
_Tariff = tuple[tuple[int, Rates], ...]
_FREE: _Tariff = ((_ANY, Rates(*[_NOTHING] * 6)),)


class Prices:
    """The prices of the configured models. Thread-safe."""

    def __init__(self, config: Config, endpoints: Mapping[str, Endpoint]) -> None:
        """Take the overrides and where providers are; the table is loaded when it is needed."""
        self._own = {
            pattern.lower().removesuffix("*"): price for pattern, price in config.pricing.items()
        }
        self._endpoints = endpoints
        self._free = _free_providers(config)
        # What the table holds of a model, None when it does not know it.
        self._listed: dict[ModelRef, ModelInfo | None] = {}

    def cost(self, model: ModelRef, usage: Usage, at: datetime | None = None) -> Decimal | None:
        """Return what a call cost in USD, None when nobody knows; `at` is when, now by default."""
        cached = usage.cache_read + usage.cache_write
        # A service that counts cached tokens beside the others must not make the rest negative.
        usage = usage if usage.input >= cached else _with_input(usage, cached)
        tariff = self._tariff(model, at)
        if tariff is None:
            return None
        rates = next(rates for above, rates in reversed(tariff) if usage.input > above)
        total = rates.cost(usage)
        if usage.searches:
            total += self._search(model, rates) * usage.searches / 1000
        return total.quantize(_SMALLEST)

    def rates(self, model: ModelRef, at: datetime | None = None) -> Rates | None:
        """Return what a model costs where its prompt is not a long one, None when nobody knows."""
        tariff = self._tariff(model, at)
        return None if tariff is None else tariff[0][1]

    def is_free(self, model: ModelRef) -> bool:
        """Whether a model is known to cost nothing."""
        return self.cost(model, Usage(_MILLION, _MILLION)) == 0

    def is_known(self, model: ModelRef) -> bool:
        """Whether it is known what a model costs."""
        return self.rates(model) is not None

    def warm(self) -> None:
        """Load the table, for a process that will record calls."""
        for name, endpoint in self._endpoints.items():
            if name not in self._free:
                _look_up("none", provider_api_url=endpoint.base_url)
                return

    def _tariff(self, model: ModelRef, at: datetime | None) -> _Tariff | None:
        own = self._overridden(model)
        if own is not None:
            return _own_tariff(own)
        if model.provider in self._free:
            return _FREE
        return self._list_tariff(model, at)

    def _list_tariff(self, model: ModelRef, at: datetime | None) -> _Tariff | None:
        if model not in self._listed:
            self._listed[model] = self._find(model)
        info = self._listed[model]
        # Some cost less at night.
        return None if info is None else _list_tariff(info.get_prices(at or datetime.now(UTC)))

    def _search(self, model: ModelRef, rates: Rates) -> Decimal:
        """Return what a thousand searches cost."""
        if rates.search is not None:
            return rates.search
        listed = self._list_tariff(model, None)
        if listed is not None and listed[0][1].search is not None:
            return listed[0][1].search
        endpoint = self._endpoints.get(model.provider)
        return _SEARCHES.get(endpoint.type if endpoint else "", _SEARCHES_ELSEWHERE)

    def _overridden(self, model: ModelRef) -> PriceConfig | None:
        """Return the price of the longest beginning in the config that any name of it has."""
        names = _names(model) if self._own else ()
        fitting = [begin for begin in self._own if any(name.startswith(begin) for name in names)]
        return self._own[max(fitting, key=len)] if fitting else None

    def _find(self, model: ModelRef) -> ModelInfo | None:
        """Return what the table holds of a model: of its service, else of who makes it."""
        endpoint = self._endpoints.get(model.provider)
        name = model.model.lower()
        if endpoint is not None and (info := _look_up(name, provider_api_url=endpoint.base_url)):
            return info
        bare = _REGION.sub("", name.rpartition("/")[2], count=1)
        vendor = next((vendor for pattern, vendor in _VENDORS if pattern.match(bare)), None)
        if vendor is None:
            return None
        return _look_up(bare.removeprefix(f"{vendor}."), provider_id=vendor)


def _free_providers(config: Config) -> frozenset[str]:
    """Return the providers that bill nobody: one's own servers, as presets know them."""
    free = {name for name, preset in PRESETS.items() if preset.keyless and name not in _GATEWAYS}
    configured = {
        name: entry.preset or (None if entry.type else name)
        for name, entry in config.providers.items()
    }
    kept = {name for name in free if name not in configured}
    own = {name for name, preset in configured.items() if preset in free}
    return frozenset({LOCAL_PROVIDER} | kept | own)


def _names(model: ModelRef) -> list[str]:
    """Return a model's names with and without what gateways and regions put before it."""
    names = [str(model).lower()]
    while "/" in names[-1]:
        names.append(names[-1].partition("/")[2])
    names.append(_REGION.sub("", names[-1], count=1))
    return names


def _own_tariff(price: PriceConfig) -> _Tariff:
    tiers = [(_ANY, _own_rates(price))]
    if price.long is not None:
        tiers.append((price.long.above, _own_rates(price.long)))
    return tuple(tiers)


def _own_rates(rates: RatesConfig) -> Rates:
    return Rates(
        rates.input,
        rates.output,
        rates.input if rates.cache_read is None else rates.cache_read,
        rates.input if rates.cache_write is None else rates.cache_write,
        search=rates.search,
    )


def _look_up(name: str, **whose: str) -> ModelInfo | None:
    """Return what the table holds under a name, None when that is nothing."""
    # It takes a third of a second to load, and is for those alone who call models.
    import genai_prices  # noqa: PLC0415 - late, for the reason above

    given: dict[str, Any] = dict(whose)
    try:
        return genai_prices.calc_price(genai_prices.Usage(), name, **given).model
    except (LookupError, ValueError):
        # Not in the table, or priced by what is not counted here.
        return None


def _list_tariff(price: ModelPrice) -> _Tariff | None:
    """Return a list price, None when it is not one for tokens of text.

    The package would work out a call's cost too, in half a millisecond; this takes a hundredth.
    """
    if price.input_mtok is None and price.requests_kcount is None:
        return None
    kinds = [getattr(price, name) for name in _KINDS]
    starts = {tier.start for kind in kinds for tier in getattr(kind, "tiers", ())}
    return tuple((above, _list_rates(kinds, above)) for above in sorted({_ANY, *starts}))


def _list_rates(kinds: Sequence[Decimal | TieredPrices | None], above: int) -> Rates:
    """Return the rates for prompts longer than `above`; what has no price costs as input does."""
    found = [_at(kind, above) for kind in kinds]
    read, output, cache_read, cache_write, calls, search = found
    plain = read or _NOTHING
    return Rates(
        plain,
        _NOTHING if output is None else output,
        plain if cache_read is None else cache_read,
        plain if cache_write is None else cache_write,
        # They are listed for a thousand.
        (calls or _NOTHING) * 1000,
        search,
    )


def _at(kind: Decimal | TieredPrices | None, above: int) -> Decimal | None:
    if kind is None or isinstance(kind, Decimal):
        return kind
    tiers = [tier.price for tier in kind.tiers if tier.start <= above]
    return tiers[-1] if tiers else kind.base


def _with_input(usage: Usage, tokens: int) -> Usage:
    return replace(usage, input=tokens)
