from __future__ import annotations

from collections.abc import Iterator

import pytest

from habakkuk.ops.account import agent_user
from tests.fakes.pages import FakeNetwork, PageServer, page_server


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
