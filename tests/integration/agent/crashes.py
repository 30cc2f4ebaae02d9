"""How the tests of turns let a run end as its process would, and another take over."""

from __future__ import annotations

from sqlalchemy import text as sql

from habakkuk.gateway.types import Admitted
from tests.fakes.stack import Points, Stack, until

JOURNAL = sql("SELECT result ->> 'text' FROM tool_calls")


def crashed(stack: Stack, points: Points, name: str, number: int = 1) -> None:
    """Wait until the run has ended at the point and nothing of it goes on."""
    until(lambda: points.passed.count(name) >= number)
    stack.stop()


def restart(stack: Stack, admitted: Admitted) -> None:
    stack.take_over(admitted)
    stack.start()
