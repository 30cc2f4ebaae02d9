from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.auth.browser import Browser
from tests.integration.web.served import Served


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    made = Stack(home, database_url, redis_url, model)
    yield made
    made.close()


@pytest.fixture
def served(stack: Stack) -> Iterator[Served]:
    with Served(stack) as running:
        yield running


@pytest.fixture
def browser(served: Served) -> Browser:
    """A browser that has never been here."""
    return Browser(served)
