"""Turns under a budget: a used-up one ends them with a clear word; commands show and raise it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Role
from habakkuk.conversations.types import Address, Outcome
from habakkuk.core.errors import Forbidden, Invalid, NotFound
from habakkuk.gateway.types import Inbound
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Points, Stack, until

# Every token costs ten cents: one answer is dearer than the budget, and passes it alone.
MONEY = """
pricing: {mine/fake-model: {input: 100000, output: 100000}}
budgets: {day: 1, users: {member: 0.5}}
"""
HOLDS = text("SELECT count(*) FROM spend_holds")


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    made = Stack(home, database_url, redis_url, model, MONEY)
    yield made
    made.close()


def member(stack: Stack, body: str) -> str | None:
    alice = next(
        (one.user for one in stack.container.accounts.people() if one.user.name == "alice"), None
    )
    user = alice or stack.container.accounts.add("alice", Role.MEMBER)
    inbound = Inbound(Address("web", "web", "alice"), user, body, "api")
    return stack.container.gateway.admit(inbound).reply


def test_a_turn_after_the_budget_is_used_up_says_so_and_asks_no_model(stack: Stack) -> None:
    stack.start()
    assert stack.ended(stack.say("hello")).outcome is Outcome.ANSWERED
    before = len(stack.model.requests)
    refused = stack.say("again")
    said = stack.reply(refused).body
    assert said.startswith("Today's budget for this server, $1.00, is used up")
    assert "/budget raise day AMOUNT" in said
    assert stack.turn(refused.turn_id).outcome is Outcome.FAILED
    assert len(stack.model.requests) == before
    assert stack.container.database.run(HOLDS)[0][0] == 0


def test_a_turn_that_is_taken_up_lets_go_of_what_its_killed_run_held(stack: Stack) -> None:
    """A worker that was killed within a call has left its hold: nobody waits for it."""
    stack.start(Points({"model.call.before": 1}))
    asked = stack.say("hello")
    until(lambda: stack.turn(asked.turn_id).began is not None)
    stack.stop()
    stack.container.database.run(
        text(
            "INSERT INTO spend_holds (id, turn_id, provider, model, scopes, amount, expires)"
            " VALUES ('killed', :turn, 'mine', 'm', '{day}', 1, now() + interval '1 hour')"
        ),
        turn=asked.turn_id,
    )
    stack.take_over(asked)
    stack.start()
    assert stack.ended(asked).outcome is Outcome.ANSWERED
    assert stack.container.database.run(HOLDS)[0][0] == 0


def test_what_is_spent_is_summed_up_with_the_maintenance(stack: Stack) -> None:
    stack.container.maintain()
    assert stack.container.database.run(text("SELECT count(*) FROM spend_sums"))[0][0] == 1


def test_many_turns_at_once_end_answered_or_refused_and_pass_the_budget_by_one_call(
    home: Path, database_url: str, redis_url: str, model: ModelServer
) -> None:
    """Fifty turns, eight at a time, against a budget for some twenty of them."""
    # A token read costs ten cents, a call some twelve dollars; what one costs at most is far more.
    money = "pricing: {mine/: {input: 100000, output: 0}}\nbudgets: {day: 240}\n"
    stack = Stack(home, database_url, redis_url, model, money)
    try:
        asked = [stack.say("hello", chat=f"c{number}") for number in range(50)]
        stack.start()
        ended = [stack.ended(one, 120) for one in asked]
        refused = [one for one in ended if one.outcome is not Outcome.ANSWERED]
        dearest, spent = stack.container.database.run(
            text("SELECT max(cost), sum(cost) FROM usage")
        )[0]
        assert 240 <= spent < 240 + dearest
        assert {one.outcome for one in refused} == {Outcome.FAILED}
        assert len(ended) - len(refused) == len(model.requests)
        for one in refused:
            reply = stack.container.conversations.reply(one)
            assert reply is not None
            assert reply.body.startswith("Today's budget for this server, $240.00, is used up")
    finally:
        stack.close()


def test_an_owner_raises_the_budget_in_the_chat_and_asks_again(stack: Stack) -> None:
    stack.start()
    stack.ended(stack.say("hello"))
    said = stack.say("/budget raise day 100").reply
    assert said is not None
    assert said.startswith("Raised. This server (day): $")
    assert "of $101.00 spent today, raised by $100.00 today." in said
    assert stack.ended(stack.say("again")).outcome is Outcome.ANSWERED


def test_a_model_without_a_price_is_no_way_around_the_budget(stack: Stack) -> None:
    """It may be chosen, which says what will happen; then the agent's own answers, and says so."""
    stack.start()
    said = member(stack, "/model mine/other-model") or ""
    assert "It is not known what it costs, so it is not asked where a budget holds" in said
    people = stack.container.accounts.people()
    alice = next(one.user for one in people if one.user.name == "alice")
    inbound = Inbound(Address("web", "web", "alice"), alice, "hello", "api")
    turn = stack.ended(stack.container.gateway.admit(inbound))
    assert turn.outcome is Outcome.ANSWERED
    assert [request.body["model"] for request in stack.model.requests] == ["fake-model"]
    reply = stack.container.conversations.reply(turn)
    assert reply is not None
    assert "not known what mine/other-model costs" in reply.data["notice"]


def test_budgets_are_shown_to_whom_they_concern(stack: Stack) -> None:
    shown = stack.say("/budget").reply
    assert shown is not None
    assert shown.splitlines() == [
        "This server (day): $0.00 of $1.00 spent today.",
        "Budgets renew at 00:00 (UTC).",
    ]
    assert (member(stack, "/budget") or "").splitlines()[:2] == [
        "This server (day): $0.00 of $1.00 spent today.",
        "alice (user:alice): $0.00 of $0.50 spent today.",
    ]


def test_only_an_owner_raises_budgets(stack: Stack) -> None:
    with pytest.raises(Forbidden):
        member(stack, "/budget raise day 5")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("raise", Invalid),
        ("raise day", Invalid),
        ("lower day 5", Invalid),
        ("raise day much", Invalid),
        ("raise day -5", Invalid),
        ("raise day nan", Invalid),
        ("raise week 5", NotFound),
    ],
)
def test_what_cannot_be_raised_is_explained(
    stack: Stack, arguments: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        stack.say(f"/budget {arguments}")


def test_usage_tells_of_this_session_and_of_today(stack: Stack) -> None:
    assert "no model was called yet" in (stack.say("/usage").reply or "")
    stack.start()
    stack.ended(stack.say("hello"))
    stack.say("/new")
    session, today = (stack.say("/usage").reply or "").splitlines()
    assert session == "This session: no model was called yet."
    assert today.startswith("You today: 1 call, ")
    assert "tokens read (0% of it cached)" in today
    assert "$" in today
