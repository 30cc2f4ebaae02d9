"""Calls that nobody limits write no more than what is held for them pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import SpendCapReached
from habakkuk.llm.types import LlmRequest, ModelRef, Usage
from tests.integration.conversations.till import ASKED, LABELS, Till, of
from tests.integration.jobs.bench import in_threads

OPEN = replace(ASKED, max_tokens=None)
# As OpenAI bills it (https://developers.openai.com/api/docs/pricing): $15 for a million tokens of
# output, of which it writes 128,000 at most. What it reads is free here.
GPT = ModelRef("openai", "gpt-5.4")
PRICE = {"openai/gpt-5.4": {"input": 0, "output": 15}}


def test_fifty_at_once_that_write_all_they_may_pass_the_cap_by_no_more_than_one(
    till: Callable[..., Till],
) -> None:
    one = till(budgets={"day": 2}, pricing={"mine/m": {"input": 0, "output": 15}})
    costs: list[Decimal] = []

    def turn(number: int) -> None:
        request: LlmRequest = replace(of(turn=f"t{number}"), max_tokens=None)
        try:
            admission = one.admit(request)
        except SpendCapReached:
            return
        # Without a limit a model writes on and on.
        written = admission.max_tokens or 100_000
        one.record(admission, Usage(0, written))
        costs.append(Decimal(15) * written / 1_000_000)

    in_threads(50, turn)
    assert one.held() == 0
    assert Decimal(2) <= one.spent() < 2 + max(costs)


@pytest.mark.parametrize(
    ("cap", "tokens"),
    [
        # All that it can write costs $1.92.
        (100, 128_000),
        # A quarter of what is left, so that others can begin too.
        (2, 33_333),
        # Less is of no use.
        (0.1, 8_192),
    ],
)
def test_a_call_may_write_what_a_part_of_what_is_left_pays(
    till: Callable[..., Till], cap: float, tokens: int
) -> None:
    one = till(budgets={"day": cap}, pricing=PRICE)
    assert one.caps.admit(GPT, OPEN, Interrupt()).max_tokens == tokens


def test_the_prompt_is_paid_before_what_is_written(till: Callable[..., Till]) -> None:
    """Of two dollars one goes for the prompt; a quarter of the other buys 16,666 tokens."""
    pricing = {"openai/gpt-5.4": {"input": 10, "output": 15}}
    one = till(budgets={"day": 2}, pricing=pricing)
    request = LlmRequest("x" * 300_000, (), labels=LABELS)
    assert one.caps.admit(GPT, request, Interrupt()).max_tokens == 16_666


def test_searches_are_paid_before_what_is_written(till: Callable[..., Till]) -> None:
    """Ten of them cost 10 cents at OpenAI; of the other $1.90 a quarter buys 31,666 tokens."""
    one = till(budgets={"day": 2}, pricing=PRICE)
    assert one.caps.admit(GPT, replace(OPEN, web=True), Interrupt()).max_tokens == 31_666


def test_where_no_cap_holds_nothing_is_limited(till: Callable[..., Till]) -> None:
    one = till(budgets={"users": {"member": 1}}, pricing=PRICE)
    olga = replace(of(user="u-olga"), max_tokens=None)
    assert one.caps.admit(GPT, olga, Interrupt()).max_tokens is None


def test_what_costs_nothing_to_write_is_not_limited(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 1}, pricing={"openai/gpt-5.4": {"input": 1, "output": 0}})
    assert one.caps.admit(GPT, OPEN, Interrupt()).max_tokens is None
