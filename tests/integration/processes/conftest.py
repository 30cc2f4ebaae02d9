from __future__ import annotations

from collections.abc import Iterator

import pytest

from habakkuk.keeper.service import Keeper
from habakkuk.ops.account import agent_user
from tests.fakes.fixtures import stack
from tests.fakes.stack import Stack
from tests.integration.processes.keeping import Keeping

__all__ = ["stack"]


@pytest.fixture(autouse=True, scope="session")
def _agent_user() -> None:
    """As root commands need their user."""
    agent_user()


@pytest.fixture
def keeping(stack: Stack) -> Iterator[Keeping]:
    """A keeper in this process, and the tools as an agent calls them."""
    made = Keeping(stack)
    made.start()
    yield made
    made.close()


@pytest.fixture
def keeper(keeping: Keeping) -> Keeper:
    """The keeper that runs."""
    assert keeping.keeper is not None
    return keeping.keeper
