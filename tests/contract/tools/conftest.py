from __future__ import annotations

import pytest

from habakkuk.ops.account import agent_user


@pytest.fixture(autouse=True, scope="session")
def _agent_user() -> None:
    """As root commands need their user."""
    agent_user()
