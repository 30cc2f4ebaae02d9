"""Money held for calls under way: nobody passes a cap by being one of many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.db.engine import Database
from habakkuk.llm.contract import RateLimited, SpendCapReached
from habakkuk.llm.router import Ports, Router
from habakkuk.llm.types import Usage
from tests.fakes.providers import ProviderTable, ScriptedProvider, answering
from tests.integration.conversations.till import ASKED, DOLLAR, MODEL, Till, of
from tests.integration.jobs.bench import in_threads


def test_a_call_holds_what_it_may_cost_until_its_cost_is_written(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 5})
    admission = one.admit()
    rows = one.database.run(text("SELECT turn_id, scopes, amount FROM spend_holds"))
    assert [tuple(row) for row in rows] == [("t", ["day"], Decimal(1))]
    one.record(admission)
    assert (one.held(), one.spent()) == (0, Decimal(1))


def test_the_hold_goes_with_the_commit_of_the_turn(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 5})
    with one.ledger.collecting("t") as basket:
        one.record(one.admit())
        assert (one.held(), one.spent()) == (1, Decimal(0))
        with one.database.transaction() as work:
            for statement, row in basket.calls:
                work.defer(statement, **row)
            work.after_commit(basket.empty)
        assert (one.held(), one.spent()) == (0, Decimal(1))


def test_fifty_at_once_spend_no_more_than_the_cap(till: Callable[..., Till]) -> None:
    """A cap that allows 20 of 50: those begin together, the others wait, and are refused."""
    one = till(budgets={"day": 20})
    together = threading.Barrier(20, timeout=60)
    refusals: list[str] = []

    def turn(number: int) -> None:
        try:
            admission = one.admit(of(turn=f"t{number}"))
        except SpendCapReached as refusal:
            refusals.append(str(refusal))
            return
        together.wait()
        one.record(admission)

    in_threads(50, turn)
    assert (one.spent(), one.held()) == (Decimal(20), 0)
    assert len(refusals) == 30
    assert all("Today's budget for this server, $20.00, is used up" in said for said in refusals)


def test_calls_that_cost_less_than_they_might_use_the_cap_up(till: Callable[..., Till]) -> None:
    """Fifty at once of which each might cost eight dollars and costs one: twenty are answered."""
    one = till(budgets={"day": 20})
    refused: list[int] = []

    def turn(number: int) -> None:
        try:
            one.spend(replace(of(turn=f"t{number}"), max_tokens=8_000_000))
        except SpendCapReached:
            refused.append(number)

    in_threads(50, turn)
    assert (one.spent(), len(refused), one.held()) == (Decimal(20), 30, 0)


def test_fifty_turns_through_the_router_spend_no_more_than_a_call_above_the_cap(
    till: Callable[..., Till],
) -> None:
    """Whatever fails on the way: every second attempt is refused by the service and made again."""
    one = till(budgets={"day": 20})
    answered, refused = [], []

    def turn(number: int) -> None:
        provider = ScriptedProvider([RateLimited("busy")], answering("yes", MODEL, DOLLAR))
        router = Router(
            ProviderTable({"mine": provider}),
            Ports(log=one.ledger, budget=one.caps),
            draw=lambda _longest: 0.0,
        )
        try:
            with one.ledger.collecting(f"t{number}"):
                list(router.stream([MODEL], of(turn=f"t{number}"), Interrupt()))
            answered.append(number)
        except SpendCapReached as refusal:
            refused.append(str(refusal))

    in_threads(50, turn)
    assert (one.spent(), one.held()) == (Decimal(20), 0)
    assert (len(answered), len(refused)) == (20, 30)
    assert {said.partition(",")[0] for said in refused} == {"Today's budget for this server"}


def test_a_call_alone_may_pass_the_cap_once(till: Callable[..., Till]) -> None:
    """What it will cost is not known before it ends: refusing would leave the rest unusable."""
    one = till(budgets={"day": 1})
    for _ in range(2):
        one.record(one.admit(replace(ASKED, max_tokens=3_000_000)), Usage(0, 700_000))
    with pytest.raises(SpendCapReached, match=r"\$1.40 spent"):
        one.admit()


def test_near_a_cap_a_call_waits_for_those_under_way(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 2})
    first = one.admit(replace(ASKED, max_tokens=2_000_000))
    waiting = threading.Event()
    admitted = threading.Event()

    class Watched(Interrupt):
        def wait(self, seconds: float) -> bool:
            waiting.set()
            return super().wait(seconds)

    def second() -> None:
        one.admit(of(turn="t2"), Watched())
        admitted.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert waiting.wait(10)
    assert not admitted.is_set()
    one.record(first, Usage(0, 500_000))
    assert admitted.wait(10)
    thread.join()


def test_who_waits_can_be_stopped(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 1})
    one.admit()
    interrupt = Interrupt()
    interrupt.trip(Reason.CANCELLED)
    with pytest.raises(Interrupted):
        one.admit(of(turn="t2"), interrupt)


def test_nobody_waits_longer_than_a_call_may_take(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 1})
    one.admit()

    class Passing(Interrupt):
        def wait(self, seconds: float) -> bool:
            one.clock.passed += 700
            return False

    with pytest.raises(SpendCapReached, match=r"under way.*\$1.00 of \$1.00") as refused:
        one.admit(of(turn="t2"), Passing())
    assert refused.value.retryable


def test_a_turn_does_not_wait_for_its_own_earlier_call(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 3})
    with one.ledger.collecting("t"):
        one.record(one.admit(replace(ASKED, max_tokens=3_000_000)))
        assert one.held() == 1
        one.admit()
        assert (one.held(), one.spent()) == (1, Decimal(1))


def test_what_nobody_takes_up_is_forgotten_after_the_longest_call(
    till: Callable[..., Till],
) -> None:
    one = till(budgets={"day": 1})
    one.admit()
    age = text("SELECT extract(epoch FROM expires - at) FROM spend_holds")
    assert one.database.run(age)[0][0] == 660
    one.database.run(text("UPDATE spend_holds SET expires = now() - interval '1 s'"))
    assert one.admit(of(turn="t2")).hold is not None
    assert one.caps.remove_expired() == 1


def test_stopping_answers_is_not_free(till: Callable[..., Till]) -> None:
    """A stopped call is read by then, and nobody says what it used: its prompt is counted."""
    one = till(budgets={"day": 1}, pricing={"mine/m": {"input": 1_000, "output": 1}})
    request = replace(ASKED, system="x" * 2_985, max_tokens=10)
    one.record(one.admit(request), None, outcome="stopped")
    assert one.spent() == Decimal("0.997")


def test_a_call_that_was_refused_costs_nothing_and_lets_go(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 1})
    one.record(one.admit(), None, outcome="rate_limited", last=False)
    assert (one.held(), one.spent()) == (0, Decimal(0))


def test_leave_takes_one_round_trip(till: Callable[..., Till], monkeypatch: Any) -> None:
    one = till(budgets={"day": 10, "agents": {"habakkuk": 5}, "users": {"member": 5}})
    one.spend()
    asked: list[int] = []
    run_after = Database.run_after

    def counted(self: Database, first: Any, statement: Any, **params: Any) -> Any:
        asked.append(len(first))
        return run_after(self, first, statement, **params)

    monkeypatch.setattr(Database, "run_after", counted)
    one.admit()
    assert asked == [3]
