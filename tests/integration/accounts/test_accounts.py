"""One owner, and tokens that are kept as digests (blueprint §11)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from habakkuk.accounts.service import Accounts
from habakkuk.accounts.types import Role, Scope, User
from habakkuk.core.errors import Invalid, NotFound
from habakkuk.db.engine import Database
from tests.integration.jobs.bench import in_threads


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=12, name="test")
    yield pool
    pool.dispose()


@pytest.fixture
def accounts(database: Database) -> Accounts:
    return Accounts(database)


def test_a_new_server_gets_one_owner_whoever_asks_first(database: Database) -> None:
    owners: list[User] = []
    in_threads(10, lambda _: owners.append(Accounts(database).owner()))
    assert len(set(owners)) == 1
    assert owners[0].role is Role.OWNER
    assert database.run(text("SELECT count(*) FROM users"))[0][0] == 1


def test_the_owner_stays_the_same(database: Database) -> None:
    accounts = Accounts(database)
    assert accounts.owner() is accounts.owner()
    assert accounts.owner() == Accounts(database).owner()


def test_a_token_says_who_comes(accounts: Accounts) -> None:
    token = accounts.create_token("laptop")
    assert re.fullmatch(r"hab_[A-Za-z0-9_-]{43}", token)
    principal = accounts.authenticate(token)
    assert principal is not None
    assert principal.user == accounts.owner()
    assert principal.scopes == {Scope.CHAT, Scope.READ}


def test_a_token_has_the_scopes_that_it_was_made_with(accounts: Accounts) -> None:
    principal = accounts.authenticate(accounts.create_token("all", [Scope.ADMIN]))
    assert principal is not None
    assert principal.scopes == {Scope.ADMIN}


@pytest.mark.parametrize(
    "token", ["", "hab_", "hab_wrong", "hab_é😀", "hab_\ud83d", "\x00", "x" * 100_000]
)
def test_what_is_no_token_is_nobody(accounts: Accounts, token: str) -> None:
    accounts.create_token("laptop")
    assert accounts.authenticate(token) is None


def test_the_secret_is_not_kept(accounts: Accounts, database: Database) -> None:
    token = accounts.create_token("laptop")
    (row,) = database.run(text("SELECT t::text AS everything FROM api_tokens t"))
    assert token not in row.everything
    assert token.removeprefix("hab_") not in row.everything


def test_a_revoked_token_is_refused(accounts: Accounts) -> None:
    one, two = accounts.create_token("one"), accounts.create_token("two")
    assert accounts.revoke_token("one") == 1
    assert accounts.authenticate(one) is None
    assert accounts.authenticate(two) is not None


def test_tokens_are_revoked_by_id_or_by_their_shared_name(accounts: Accounts) -> None:
    for name in ("one", "twin", "twin"):
        accounts.create_token(name)
    assert accounts.revoke_token("twin") == 2
    assert accounts.revoke_token(accounts.list_tokens()[0].id) == 1
    assert all(token.revoked for token in accounts.list_tokens())


def test_revoking_what_is_not_there_is_said(accounts: Accounts) -> None:
    accounts.create_token("one")
    accounts.revoke_token("one")
    for which in ("one", "nothing"):
        with pytest.raises(NotFound, match=f"there is no valid token named '{which}'"):
            accounts.revoke_token(which)


def test_tokens_are_listed_oldest_first(accounts: Accounts) -> None:
    for name in ("b", " a "):
        accounts.create_token(name, [Scope.READ])
    assert [(t.name, t.scopes, t.revoked) for t in accounts.list_tokens()] == [
        ("b", ("read",), None),
        ("a", ("read",), None),
    ]


def test_the_last_use_is_noted_once_a_minute(accounts: Accounts, database: Database) -> None:
    token = accounts.create_token("laptop")
    assert accounts.list_tokens()[0].last_used is None
    accounts.authenticate(token)
    first = accounts.list_tokens()[0].last_used
    assert first is not None
    accounts.authenticate(token)
    assert accounts.list_tokens()[0].last_used == first
    database.run(text("UPDATE api_tokens SET last_used = now() - interval '2 minutes'"))
    accounts.authenticate(token)
    assert (accounts.list_tokens()[0].last_used or first) > first


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_token_needs_a_name(accounts: Accounts, name: str) -> None:
    with pytest.raises(Invalid, match="a token needs a name"):
        accounts.create_token(name)


@pytest.mark.parametrize("name", ["Büro 😀", "a\x00b", "a\ud83d"])
def test_a_name_may_be_in_any_script(accounts: Accounts, name: str) -> None:
    assert accounts.authenticate(accounts.create_token(name)) is not None
