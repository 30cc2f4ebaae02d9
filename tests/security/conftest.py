from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.pages import FakeNetwork, PageServer, page_server


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with page_server() as server:
        yield server


@pytest.fixture
def network(pages: PageServer) -> FakeNetwork:
    """A network in which nothing leaves loopback and everything is noted."""
    return FakeNetwork(pages.port)
