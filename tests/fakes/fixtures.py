"""Fixtures of tests that need the whole house; conftests take them from here by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.web.served import Served


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A service; at the end every request must have kept to its rules."""
    with ModelServer() as server:
        yield server
        assert server.violations == []


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    """One server in miniature, with no worker yet: `stack.start()` runs one."""
    made = Stack(home, database_url, redis_url, model)
    yield made
    made.close()


@pytest.fixture
def served(stack: Stack) -> Iterator[Served]:
    """The application on a real socket."""
    with Served(stack) as running:
        yield running
