"""One workspace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.slack_server import SlackServer


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    """A workspace; at the end everything that it was sent must have been as Slack wants it."""
    with SlackServer() as server:
        yield server
        assert server.faults == []
