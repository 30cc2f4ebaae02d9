"""Caps on spending, on a real PostgreSQL: nobody passes one by being one of many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from habakkuk.conversations.budgets import Budgets, day_of
from habakkuk.conversations.spend import SpendCaps
from habakkuk.conversations.store.usage import UsageLedger
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import Config
from habakkuk.core.errors import Invalid, NotFound
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.db.engine import Database
from habakkuk.llm.contract import Admission, CallRecord, Endpoint, RateLimited, SpendCapReached
from habakkuk.llm.prices import Prices
from habakkuk.llm.router import Ports, Router
from habakkuk.llm.types import LlmRequest, Message, ModelRef, Role, Text, Usage
from tests.fakes.providers import ProviderTable, ScriptedProvider, answering
from tests.integration.jobs.bench import in_threads

MODEL = ModelRef("mine", "m")
# A million tokens of output cost a dollar, input nothing: 1,000,000 tokens are a call's worth.
DOLLAR = Usage(0, 1_000_000)
LABELS = {"turn": "t", "session": "s", "user": "u-alice", "agent": "habakkuk"}
ASKED = LlmRequest(
    "", (Message(Role.USER, (Text(text="hello"),)),), max_tokens=1_000_000, labels=LABELS
)
PRICE = {"mine/m": {"input": 0, "output": 1}}
HELD = text("SELECT count(*) FROM spend_holds")
SPENT = text("SELECT sum(cost) FROM usage")


class Late(Clock):
    """A clock that a test moves."""

    def __init__(self, now: datetime | None = None) -> None:
        self.time = now
        self.passed = 0.0

    def now(self) -> datetime:
        return self.time or super().now()

    def monotonic(self) -> float:
        return super().monotonic() + self.passed


class Till:
    """One process that spends: caps, prices and ledger on one database."""

    def __init__(self, database: Database, **config: Any) -> None:
        self.database = database
        self.config = Config.model_validate({"pricing": PRICE} | config)
        endpoints: Mapping[str, Endpoint] = {"mine": Endpoint("mine", "http://127.0.0.1:1/v1", "k")}
        self.clock = Late()
        self.prices = Prices(self.config, endpoints)
        self.ledger = UsageLedger(database, self.prices)
        self.caps = SpendCaps(
            database, self.config, self.prices, self.ledger, self.clock, endpoints
        )
        self.budgets = Budgets(database, self.config, self.clock)

    def admit(self, request: LlmRequest = ASKED, interrupt: Interrupt | None = None) -> Admission:
        return self.caps.admit(MODEL, request, interrupt or Interrupt())

    def record(self, admission: Admission, usage: Usage | None = DOLLAR, **fields: Any) -> None:
        call = CallRecord(MODEL, LABELS, "answered", usage, hold=admission.hold)
        self.ledger.record(replace(call, **fields))

    def spend(self, request: LlmRequest = ASKED) -> Admission:
        admission = self.admit(request)
        self.record(admission)
        return admission

    def held(self) -> int:
        return int(self.database.run(HELD)[0][0])

    def spent(self) -> Decimal:
        return Decimal(self.database.run(SPENT)[0][0] or 0)


def of(**labels: str) -> LlmRequest:
    return replace(ASKED, labels=LABELS | labels)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url)
    pool.run(
        text(
            "INSERT INTO users (id, name, role) VALUES ('u-olga', 'olga', 'owner'),"
            " ('u-alice', 'alice', 'member'), ('u-bob', 'bob', 'member')"
        )
    )
    yield pool
    pool.dispose()


@pytest.fixture
def till(database: Database) -> Callable[..., Till]:
    return lambda **config: Till(database, **config)


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


def test_what_a_killed_run_held_goes_when_its_turn_is_taken_up(till: Callable[..., Till]) -> None:
    one = till(budgets={"day": 1})
    one.admit()
    with one.database.transaction() as work:
        one.caps.release_of_turn(work, "t")
    assert one.admit().hold is not None


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


def test_what_has_no_price_counts_nothing_but_a_used_up_cap_stops_it_too(
    till: Callable[..., Till],
) -> None:
    one = till(budgets={"day": 1})
    unpriced = ModelRef("mine", "nobody-knows")
    one.ledger.record(CallRecord(unpriced, LABELS, "answered", DOLLAR))
    assert one.caps.admit(unpriced, ASKED, Interrupt()).hold is not None
    one.spend()
    with pytest.raises(SpendCapReached):
        one.caps.admit(unpriced, ASKED, Interrupt())


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
