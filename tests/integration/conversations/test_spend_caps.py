"""Whose caps hold for a call, what is said of them, and how they are raised."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from habakkuk.conversations.budgets import day_of
from habakkuk.core.errors import Invalid, NotFound
from habakkuk.core.interrupt import Interrupt
from habakkuk.db.engine import Database
from habakkuk.llm.contract import Admission, CallRecord, PriceUnknown, SpendCapReached
from habakkuk.llm.types import ModelRef
from tests.integration.conversations.till import ASKED, DOLLAR, LABELS, Till, of

UNPRICED = ModelRef("mine", "nobody-knows")


def test_without_a_cap_nothing_is_asked_of_the_database() -> None:
    away = Database("postgresql+psycopg2://nobody@127.0.0.1:1/nothing")
    till = Till(away)
    assert till.admit() == Admission()
    assert not till.caps.any


def test_what_is_known_to_be_free_needs_no_leave() -> None:
    away = Database("postgresql+psycopg2://nobody@127.0.0.1:1/nothing")
    till = Till(away, budgets={"day": 1}, pricing={"mine/": {"input": 0, "output": 0}})
    assert till.admit() == Admission()


def test_what_no_cap_is_for_needs_no_leave() -> None:
    away = Database("postgresql+psycopg2://nobody@127.0.0.1:1/nothing")
    till = Till(away, budgets={"agents": {"habakkuk": 1}, "users": {"member": 1}})
    assert till.admit(of(agent="other", user="", turn="")) == Admission()


def test_a_refusal_says_whose_cap_it_is_when_it_renews_and_who_can_raise_it(
    till: Callable[..., Till],
) -> None:
    one = till(budgets={"users": {"alice": 1}}, timezone="Europe/Berlin")
    one.spend()
    ends = day_of(one.config, one.clock.now()).ends
    with pytest.raises(SpendCapReached) as refused:
        one.admit()
    assert str(refused.value) == (
        "Your budget for today, $1.00, is used up ($1.00 spent). It renews at 00:00 on"
        f" {ends:%Y-%m-%d} (Europe/Berlin); an owner can raise it for today:"
        " /budget raise user:alice AMOUNT"
    )


def test_people_have_caps_by_name_before_role(till: Callable[..., Till]) -> None:
    one = till(budgets={"users": {"member": 1, "alice": 2}})
    bob = of(user="u-bob", turn="b")
    one.record(one.admit(bob), labels=bob.labels)
    with pytest.raises(SpendCapReached):
        one.admit(bob)
    one.spend()
    one.spend()
    with pytest.raises(SpendCapReached, match=r"\$2.00"):
        one.admit()
    olga = of(user="u-olga", turn="o")
    assert one.admit(olga) == Admission()


def test_every_cap_that_holds_for_a_call_must_let_it(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 10, "agents": {"habakkuk": 1}, "users": {"member": 5}})
    one.spend()
    with pytest.raises(SpendCapReached, match="Today's budget for the agent habakkuk"):
        one.admit()


def test_a_call_without_a_person_has_the_servers_cap(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 1, "users": {"member": 5}})
    request = of(user="", turn="")
    one.record(one.admit(request), labels=request.labels)
    with pytest.raises(SpendCapReached, match="this server"):
        one.admit(request)


@pytest.mark.parametrize(
    "budgets",
    [{"day": 1}, {"agents": {"habakkuk": 1}}, {"users": {"alice": 1}}, {"users": {"member": 1}}],
)
def test_a_model_without_a_price_is_no_way_around_a_cap(
    till: Callable[..., Till], budgets: Any
) -> None:
    one = till(budgets=budgets)
    with pytest.raises(PriceUnknown, match="not known what mine/nobody-knows costs") as refused:
        one.caps.admit(UNPRICED, ASKED, Interrupt())
    assert "`pricing:`" in str(refused.value)
    assert one.held() == 0


@pytest.mark.parametrize(
    "budgets", [{"users": {"alice": 1}}, {"agents": {"other": 1}, "users": {"member": 1}}]
)
def test_a_model_without_a_price_may_be_asked_where_no_cap_holds(
    till: Callable[..., Till], budgets: Any
) -> None:
    olga = of(user="u-olga")
    assert till(budgets=budgets).caps.admit(UNPRICED, olga, Interrupt()) == Admission()


def test_what_is_allowed_without_a_price_counts_nothing_but_a_used_up_cap_stops_it(
    till: Callable[..., Till],
) -> None:
    one = till(budgets={"day": 1, "unpriced": "allow"})
    one.ledger.record(CallRecord(UNPRICED, LABELS, "answered", DOLLAR))
    assert one.caps.admit(UNPRICED, ASKED, Interrupt()).hold is not None
    one.spend()
    with pytest.raises(SpendCapReached):
        one.caps.admit(UNPRICED, ASKED, Interrupt())


def test_most_of_a_cap_used_is_said_once_a_day(till: Callable[..., Till]) -> None:
    one = till(budgets={"users": {"alice": 10}})
    for _ in range(8):
        assert one.spend().notices == ()
    assert one.spend().notices == ("You have used 80 % of today's budget of $10.00.",)
    assert one.admit().notices == ()


def test_a_new_day_begins_at_midnight_of_the_configured_zone(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 1}, timezone="Pacific/Auckland")
    one.spend()
    with pytest.raises(SpendCapReached):
        one.admit()
    one.clock.time = day_of(one.config, datetime.now(UTC)).ends
    assert one.admit().hold is not None


def test_a_raised_cap_lets_more_through_today(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 1, "users": {"alice": 1}})
    one.spend()
    assert one.budgets.raise_by("day", Decimal("1.5")).cap == Decimal("2.5")
    with pytest.raises(SpendCapReached, match="Your budget"):
        one.admit()
    one.budgets.raise_by("user:alice", Decimal(1))
    one.spend()
    with pytest.raises(SpendCapReached):
        one.spend()
    shown = {cap.scope: (cap.cap, cap.raised, cap.spent) for cap in one.budgets.standings()}
    assert shown == {
        "day": (Decimal("2.5"), Decimal("1.5"), Decimal(2)),
        "user:u-alice": (Decimal(2), Decimal(1), Decimal(2)),
    }


@pytest.mark.parametrize(
    ("written", "amount", "error"),
    [("week", 1, NotFound), ("user:bob", 1, NotFound), ("day", 0, Invalid), ("day", -1, Invalid)],
)
def test_what_is_no_cap_or_no_amount_is_refused(
    till: Callable[..., Till], written: str, amount: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        till(budgets={"day": 1}).budgets.raise_by(written, Decimal(amount))
