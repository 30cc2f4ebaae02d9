"""What a process remembers of people is never older than what the database says now."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from habakkuk.accounts.memory import KEEP_SECONDS, AccountMemory
from habakkuk.accounts.service import Accounts
from habakkuk.accounts.types import Principal, Role, User
from habakkuk.db.engine import Database
from habakkuk.jobs.done import DoneListener
from tests.fakes.stack import until


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=2)
    yield pool
    pool.dispose()


@pytest.fixture
def memory() -> AccountMemory:
    return AccountMemory()


@pytest.fixture
def accounts(database: Database, memory: AccountMemory) -> Iterator[Accounts]:
    listener = DoneListener(database, others=[memory])
    listener.start()
    yield Accounts(database, memory)
    listener.stop()


def known(memory: AccountMemory) -> int:
    return len(memory.tokens._known) + len(memory.identities._known)


def test_a_token_is_looked_up_once(
    accounts: Accounts, memory: AccountMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = accounts.create_token("one")
    first = accounts.authenticate(token)
    monkeypatch.setattr("habakkuk.accounts.store.tokens.authenticate", lambda *_: None)
    assert accounts.authenticate(token) == first
    assert first is not None


def test_a_revoked_token_is_forgotten_wherever_it_was_revoked(
    database: Database, accounts: Accounts, memory: AccountMemory
) -> None:
    token = accounts.create_token("one")
    assert accounts.authenticate(token) is not None
    # As another process does it, or a person with psql.
    database.run(text("UPDATE api_tokens SET revoked = now()"))
    until(lambda: not known(memory))
    assert accounts.authenticate(token) is None


def test_a_lowered_role_counts_at_once(
    database: Database, accounts: Accounts, memory: AccountMemory
) -> None:
    mary = accounts.add("Mary")
    token = accounts.create_token("hers", user=mary)
    assert accounts.authenticate(token) is not None
    accounts.set_role("Mary", Role.VIEWER)
    until(lambda: not known(memory))
    found = accounts.authenticate(token)
    assert found is not None
    assert found.user.role is Role.VIEWER


def test_a_removed_person_is_forgotten(accounts: Accounts, memory: AccountMemory) -> None:
    token = accounts.create_token("hers", user=accounts.add("Mary"))
    assert accounts.authenticate(token) is not None
    accounts.remove("Mary")
    until(lambda: not known(memory))
    assert accounts.authenticate(token) is None


def test_that_a_token_was_used_is_no_change(
    database: Database, accounts: Accounts, memory: AccountMemory
) -> None:
    """It is noted with the look-up: a change would empty the memory that the look-up fills."""
    token = accounts.create_token("one")
    accounts.authenticate(token)
    database.run(text("UPDATE api_tokens SET last_used = now()"))
    database.run(text("UPDATE users SET password = 'x'"))
    # Notifications come in order: when that of a person's new name is there, no other came before.
    changes = memory.tokens.changes
    assert known(memory) == 1
    accounts.add("Mary")
    accounts.set_role("Mary", Role.VIEWER)
    until(lambda: memory.tokens.changes > changes)
    assert memory.tokens.changes == changes + 1


def test_an_identity_is_looked_up_once(accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    first = accounts.of_identity("webhook", "phone", "4711", "Mary")
    assert accounts.of_identity("webhook", "phone", "4711", "Mary") == first
    monkeypatch.setattr("habakkuk.accounts.store.identities.find", lambda *_: None)
    assert accounts.known("webhook", "phone", "4711") == first


def test_a_linked_identity_is_another_persons_at_once(
    accounts: Accounts, memory: AccountMemory
) -> None:
    before = accounts.of_identity("webhook", "phone", "4711", "Mary")
    assert accounts.known("webhook", "phone", "4711") == before
    mary = accounts.add("Mary Jones")
    accounts.link("webhook", "phone", "4711", mary)
    until(lambda: not known(memory))
    assert accounts.known("webhook", "phone", "4711") == mary


def test_a_viewer_is_one_at_once(accounts: Accounts, memory: AccountMemory) -> None:
    """What a platform brings is judged by the role that the person has now."""
    person = accounts.of_identity("webhook", "phone", "4711", "Mary")
    assert accounts.known("webhook", "phone", "4711") == person
    accounts.set_role(person.name, Role.VIEWER)
    until(lambda: not known(memory))
    found = accounts.known("webhook", "phone", "4711")
    assert found is not None
    assert found.role is Role.VIEWER


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


SOMEBODY = Principal(User("u", "somebody", Role.MEMBER), frozenset())


def test_nothing_is_remembered_for_longer_than_ten_seconds() -> None:
    clock = Clock()
    memory = AccountMemory(clock)  # type: ignore[arg-type] # - a clock of the test
    memory.began()
    memory.tokens.keep(b"x", SOMEBODY, memory.tokens.changes)
    assert memory.tokens.recall(b"x") == SOMEBODY
    clock.now += KEEP_SECONDS + 0.1
    assert memory.tokens.recall(b"x") is None


def test_what_changed_while_the_database_was_asked_is_not_remembered() -> None:
    memory = AccountMemory()
    memory.began()
    before = memory.tokens.changes
    memory.told("")
    memory.tokens.keep(b"x", SOMEBODY, before)
    assert memory.tokens.recall(b"x") is None


def test_a_deaf_process_remembers_nothing() -> None:
    memory = AccountMemory()
    memory.tokens.keep(b"x", SOMEBODY, memory.tokens.changes)
    assert memory.tokens.recall(b"x") is None
    memory.began()
    memory.tokens.keep(b"x", SOMEBODY, memory.tokens.changes)
    memory.ended()
    assert memory.tokens.recall(b"x") is None
