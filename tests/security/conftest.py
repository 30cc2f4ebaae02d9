from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from habakkuk.ops.account import agent_user
from tests.fakes.pages import FakeNetwork, PageServer, page_server
from tests.security.door import Browser, Served, serving


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with page_server() as server:
        yield server


@pytest.fixture
def network(pages: PageServer) -> FakeNetwork:
    """A network in which nothing leaves loopback and everything is noted."""
    return FakeNetwork(pages.port)


@pytest.fixture(autouse=True, scope="session")
def _agent_user() -> None:
    """As root commands need their user."""
    agent_user()


@pytest.fixture
def served(home: Path, database_url: str, redis_url: str) -> Iterator[Served]:
    """The application on a real socket."""
    with serving(home, database_url, redis_url) as running:
        yield running


@pytest.fixture
def browser(served: Served) -> Browser:
    """A browser that has never been there."""
    return Browser(served)
