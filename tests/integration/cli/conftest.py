from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from click.testing import CliRunner, Result

from tests.fakes.stack import Stack, until
from web.cli import group

Run = Callable[..., Result]


@pytest.fixture
def worker(stack: Stack) -> Stack:
    """The stack with a worker that others can see."""
    stack.start()
    until(stack.container.jobs.workers_alive)
    return stack


@pytest.fixture
def run(stack: Stack, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on the stack's databases, as from a shell without a terminal."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("MINE_KEY", "key-of-the-fake-service")

    def invoke(*words: str, stdin: str | None = None) -> Result:
        arguments: Sequence[str] = words
        return CliRunner().invoke(group(), arguments, input=stdin, prog_name="habakkuk")

    return invoke
