"""People by name: one owner, and no more rights than a role has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from habakkuk.accounts.types import Role, Scope
from habakkuk.core.errors import Conflict, Invalid, NotFound
from tests.fakes.stack import Stack


def test_a_person_is_added_once(stack: Stack) -> None:
    accounts = stack.container.accounts
    mary = accounts.add(" mary ")
    assert (mary.name, mary.role) == ("mary", Role.MEMBER)
    with pytest.raises(Conflict, match="'mary' already"):
        accounts.add("mary", Role.VIEWER)


def test_everybody_is_listed_the_owner_first(stack: Stack) -> None:
    accounts = stack.container.accounts
    accounts.add("mary")
    accounts.add("vera", Role.VIEWER)
    listed = [(one.user.name, str(one.user.role)) for one in accounts.people()]
    assert listed == [("owner", "owner"), ("mary", "member"), ("vera", "viewer")]


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_person_needs_a_name(stack: Stack, name: str) -> None:
    with pytest.raises(Invalid, match="a person needs a name"):
        stack.container.accounts.add(name)


def test_there_is_one_owner_who_stays(stack: Stack) -> None:
    accounts = stack.container.accounts
    mary = accounts.add("mary")
    changes: tuple[Callable[[], object], ...] = (
        lambda: accounts.add("second", Role.OWNER),
        lambda: accounts.add("owner"),
        lambda: accounts.set_role("owner", Role.MEMBER),
        lambda: accounts.set_role("mary", Role.OWNER),
        lambda: accounts.remove("owner"),
    )
    for change in changes:
        with pytest.raises(Conflict):
            change()
    assert accounts.find("mary") == mary
    assert accounts.find("owner").role is Role.OWNER


def test_who_is_not_there_is_said(stack: Stack) -> None:
    accounts = stack.container.accounts
    changes: tuple[Callable[[], object], ...] = (
        lambda: accounts.find("nobody"),
        lambda: accounts.set_role("nobody", Role.VIEWER),
        lambda: accounts.remove("nobody"),
    )
    for change in changes:
        with pytest.raises(NotFound, match="'nobody'"):
            change()


def test_a_removed_persons_tokens_are_gone_and_conversations_stay(stack: Stack) -> None:
    accounts = stack.container.accounts
    mary = accounts.add("mary")
    token = accounts.create_token("phone", user=mary)
    accounts.remove("mary")
    assert accounts.authenticate(token) is None
    assert [one.user.name for one in accounts.people()] == ["owner"]


def test_a_token_has_no_more_than_its_persons_role(stack: Stack) -> None:
    accounts = stack.container.accounts
    vera = accounts.add("vera", Role.VIEWER)
    for scope in (Scope.CHAT, Scope.APPROVE, Scope.ADMIN):
        with pytest.raises(Invalid, match="a token of a viewer may have read"):
            accounts.create_token("t", [scope], vera)
    mary = accounts.add("mary")
    with pytest.raises(Invalid, match="chat, read, approve, not admin"):
        accounts.create_token("t", [Scope.ADMIN], mary)


def test_a_lowered_role_lowers_its_tokens(stack: Stack) -> None:
    accounts = stack.container.accounts
    token = accounts.create_token("phone", [Scope.CHAT, Scope.READ], accounts.add("mary"))
    accounts.set_role("mary", Role.VIEWER)
    principal = accounts.authenticate(token)
    assert principal is not None
    assert principal.scopes == {Scope.READ}
