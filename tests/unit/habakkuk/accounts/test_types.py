from __future__ import annotations

import pytest

from habakkuk.accounts.types import Principal, Role, Scope, User


def principal(role: Role, *scopes: Scope) -> Principal:
    return Principal(User("me", "me", role), frozenset(scopes))


@pytest.mark.parametrize(
    ("role", "whose", "sees"),
    [
        (Role.OWNER, "somebody", True),
        (Role.OWNER, None, True),
        (Role.MEMBER, "me", True),
        (Role.MEMBER, "somebody", False),
        (Role.MEMBER, None, False),
        (Role.VIEWER, "somebody", False),
    ],
)
def test_who_sees_what(role: Role, whose: str | None, sees: bool) -> None:
    assert principal(role).sees(whose) is sees


def test_a_credential_covers_its_scopes_and_admin_all() -> None:
    assert principal(Role.OWNER, Scope.READ).may(Scope.READ)
    assert not principal(Role.OWNER, Scope.READ).may(Scope.CHAT)
    assert all(principal(Role.MEMBER, Scope.ADMIN).may(scope) for scope in Scope)


@pytest.mark.parametrize(
    ("role", "whose", "decides"),
    [
        (Role.OWNER, "somebody", True),
        (Role.OWNER, None, True),
        (Role.MEMBER, "me", True),
        (Role.MEMBER, "somebody", False),
        (Role.MEMBER, None, False),
        (Role.VIEWER, "me", False),
        (Role.VIEWER, None, False),
    ],
)
def test_who_decides_about_a_turn(role: Role, whose: str | None, decides: bool) -> None:
    assert User("me", "me", role).decides_for(whose) is decides
