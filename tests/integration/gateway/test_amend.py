"""Messages that are edited, withdrawn or asked again after the gateway let them in."""

from __future__ import annotations

import pytest

from habakkuk.accounts.types import Principal, Role, Scope, User
from habakkuk.conversations.types import Address, ChatState, Outcome
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.gateway.amend import Amendments
from tests.fakes.stack import Stack, until

HERE = Address("web", "web", "c")


@pytest.fixture
def amendments(stack: Stack) -> Amendments:
    return stack.container.amendments


def test_an_edit_before_the_turn_begins_is_what_the_model_reads(
    stack: Stack, amendments: Amendments
) -> None:
    admitted = stack.say("first")
    amendments.edit(stack.principal, HERE, admitted.seq, "better")
    stack.start()
    assert stack.reply(admitted).body == "echo: better"
    assert [row.body for row in stack.rows(admitted)] == ["better", "echo: better"]


@pytest.mark.parametrize("body", ["", " \n", "x" * 1001])
def test_an_edit_keeps_to_the_rules_of_admission(
    stack: Stack, amendments: Amendments, body: str
) -> None:
    admitted = stack.say("first")
    with pytest.raises(Invalid):
        amendments.edit(stack.principal, HERE, admitted.seq, body)


def test_what_is_taken_is_neither_edited_nor_withdrawn(
    stack: Stack, amendments: Amendments
) -> None:
    stack.start()
    admitted = stack.say("first")
    stack.ended(admitted)
    with pytest.raises(Conflict, match="already"):
        amendments.edit(stack.principal, HERE, admitted.seq, "better")
    with pytest.raises(Conflict, match="already"):
        amendments.withdraw(stack.principal, HERE, admitted.seq)


def test_a_withdrawn_message_is_never_answered(stack: Stack, amendments: Amendments) -> None:
    admitted = stack.say("first")
    amendments.withdraw(stack.principal, HERE, admitted.seq)
    stack.start()
    assert stack.ended(admitted).outcome is Outcome.WITHDRAWN
    assert [row.state for row in stack.rows(admitted)] == [ChatState.WITHDRAWN]
    assert stack.model.requests == []


def test_of_two_messages_of_a_turn_the_other_is_answered(
    stack: Stack, amendments: Amendments
) -> None:
    first = stack.say("one", joinable=True)
    second = stack.say("two", joinable=True)
    assert first.turn_id == second.turn_id
    amendments.withdraw(stack.principal, HERE, first.seq)
    stack.start()
    assert stack.reply(second).body == "echo: two"


def test_answers_and_commands_are_not_messages_to_change(
    stack: Stack, amendments: Amendments
) -> None:
    stack.start()
    admitted = stack.say("one")
    stack.ended(admitted)
    command = stack.say("/status")
    for seq in (admitted.seq + 1, command.seq, 99):
        with pytest.raises(NotFound):
            amendments.withdraw(stack.principal, HERE, seq)


def test_retry_asks_the_last_message_again(stack: Stack, amendments: Amendments) -> None:
    stack.start()
    stack.ended(stack.say("one"))
    again = amendments.retry(stack.principal, HERE)
    assert stack.reply(again).body == "echo: one"
    assert [row.body for row in stack.rows(again)] == ["one", "echo: one"] * 2


def test_who_asks_again_can_be_asked(stack: Stack, amendments: Amendments) -> None:
    """What needs an approval was denied at once, as if nobody looked on."""
    stack.start()
    stack.ended(stack.say("one"))
    again = amendments.retry(stack.principal, HERE)
    assert stack.ended(again).reply_to == {"attended": True}


def test_retry_twice_of_one_state_is_one_turn(stack: Stack, amendments: Amendments) -> None:
    stack.start()
    stack.ended(stack.say("one"))
    stack.stop()
    first = amendments.retry(stack.principal, HERE)
    with pytest.raises(Conflict, match="still being answered"):
        amendments.retry(stack.principal, HERE)
    assert len(stack.rows(first)) == 3


def test_retry_waits_for_what_runs(stack: Stack, amendments: Amendments) -> None:
    stack.start()
    admitted = stack.say("slow [[stall]]")
    until(lambda: stack.model.requests)
    with pytest.raises(Conflict):
        amendments.retry(stack.principal, HERE)
    stack.say("/stop")
    stack.ended(admitted)


def test_a_conversation_of_commands_has_nothing_to_ask_again(
    stack: Stack, amendments: Amendments
) -> None:
    stack.say("/status")
    with pytest.raises(Invalid):
        amendments.retry(stack.principal, HERE)


def test_another_persons_messages_are_not_there(stack: Stack, amendments: Amendments) -> None:
    admitted = stack.say("one")
    stranger = Principal(User("someone", "someone", Role.MEMBER), frozenset(Scope))
    for attempt in (
        lambda: amendments.edit(stranger, HERE, admitted.seq, "mine"),
        lambda: amendments.withdraw(stranger, HERE, admitted.seq),
        lambda: amendments.retry(stranger, HERE),
    ):
        with pytest.raises(NotFound):
            attempt()
