"""Calls whose worker was killed: what they held goes, and what they cost is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import text

from habakkuk.llm.contract import SpendCapReached
from habakkuk.llm.types import Usage
from tests.integration.conversations.till import ASKED, LEDGER, Till, of

# A prompt of a thousand tokens costs 40 cents, and a token of output a hundredth of one.
PRICE = {"mine/m": {"input": 400, "output": 100}}
REQUEST = replace(ASKED, system="x" * 2_995, max_tokens=1_000)
PROMPT = Decimal("0.4")
EXPIRE = text("UPDATE spend_holds SET expires = now() - interval '1 s'")


@pytest.fixture
def one(till: Callable[..., Till]) -> Till:
    return till(budgets={"day": 1}, pricing=PRICE)


def take_up(one: Till, turn: str = "t") -> None:
    with one.database.transaction() as work:
        one.caps.release_of_turn(work, turn)


def ledger(one: Till) -> list[tuple[str, int, Decimal]]:
    return [(row.outcome, row.output, row.cost) for row in one.database.run(LEDGER)]


def test_what_a_killed_run_held_goes_when_its_turn_is_taken_up(one: Till) -> None:
    one.admit(REQUEST)
    take_up(one)
    assert one.held() == 0
    assert ledger(one) == [("lost", 0, PROMPT)]


def test_a_lost_call_is_kept_for_whom_it_was_made(one: Till) -> None:
    one.admit(REQUEST)
    take_up(one)
    words = text("SELECT user_id, agent, session_id, turn_id, provider, model, purpose FROM usage")
    found = tuple(one.database.run(words)[0])
    assert found == ("u-alice", "habakkuk", "s", "t", "mine", "m", "answer")


def test_what_nobody_takes_up_is_kept_once(one: Till) -> None:
    one.admit(REQUEST)
    one.database.run(EXPIRE)
    assert [one.caps.remove_expired() for _ in range(2)] == [1, 0]
    take_up(one)
    assert ledger(one) == [("lost", 0, PROMPT)]


def test_a_turn_that_kills_its_worker_each_time_uses_the_budget_up(one: Till) -> None:
    """Else it would read its prompt again and again, and nobody saw what it costs."""
    for _ in range(3):
        one.admit(REQUEST)
        take_up(one)
    with pytest.raises(SpendCapReached, match=r"\$1.20 spent"):
        one.admit(of(turn="t2"))


def test_a_run_that_lives_after_all_says_what_it_cost(one: Till) -> None:
    """Its turn went to another while it hung; the provider bills the one call once."""
    admission = one.admit(REQUEST)
    take_up(one)
    one.record(admission, Usage(1_000, 500))
    assert ledger(one) == [("answered", 500, Decimal("0.45"))]


def test_a_run_that_lives_after_all_and_was_stopped_has_cost_its_prompt(one: Till) -> None:
    admission = one.admit(REQUEST)
    take_up(one)
    one.record(admission, None, outcome="stopped")
    assert ledger(one) == [("stopped", 0, PROMPT)]


def test_what_was_recorded_is_not_lost_afterwards(one: Till) -> None:
    admission = one.admit(REQUEST)
    one.record(admission, Usage(1_000, 500))
    take_up(one)
    assert ledger(one) == [("answered", 500, Decimal("0.45"))]
