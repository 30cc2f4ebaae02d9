"""A server that hangs is as good as away, and keeps nobody waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import cast

import pytest
from flask import Flask

from habakkuk.bootstrap import Container
from habakkuk.core.clock import Clock
from web.health import Health


class Hanging:
    """A container whose PostgreSQL accepts a question and does not answer it."""

    clock = Clock()

    def __init__(self) -> None:
        self.asked = 0
        self.released = threading.Event()

    def degraded(self) -> list[str]:
        return []

    def database_away(self) -> bool:
        self.asked += 1
        self.released.wait(60)
        return True


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.released.set()


def test_whoever_asks_is_answered_while_postgresql_hangs(hanging: Hanging) -> None:
    health = Health(cast("Container", hanging), patience=0.02)
    with Flask("test").app_context():
        answers = [health.answer() for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503] * 3
    assert answers[0].get_json() == {"status": "down", "degraded": ["postgresql"]}
    assert not hanging.released.is_set()


def test_only_one_look_hangs_at_a_time(hanging: Hanging) -> None:
    health = Health(cast("Container", hanging), patience=0.02)
    with Flask("test").app_context():
        for _ in range(3):
            health.answer()
    assert hanging.asked == 1
