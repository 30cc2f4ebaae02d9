from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Role, User
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    made = Stack(home, database_url, redis_url, model, "gateway: {max_message_bytes: 1000}")
    yield made
    made.close()


@pytest.fixture
def person(stack: Stack) -> Callable[[str, Role], User]:
    """Makes people."""

    def make(name: str, role: Role) -> User:
        stack.container.database.run(
            text("INSERT INTO users (id, name, role) VALUES (:id, :id, :role)"), id=name, role=role
        )
        return User(name, name, role)

    return make
