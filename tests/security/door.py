"""What the rows about the door share: a server on a socket, and a browser at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.auth.browser import Browser
from tests.integration.web.served import Served

__all__ = ["Browser", "Served", "serving"]


@contextmanager
def serving(home: Path, database_url: str, redis_url: str, more: str = "") -> Iterator[Served]:
    """Serve one, with `more` in its configuration."""
    with ModelServer() as model:
        stack = Stack(home, database_url, redis_url, model, more)
        try:
            with Served(stack) as served:
                yield served
        finally:
            stack.close()
