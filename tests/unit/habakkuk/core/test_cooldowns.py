"""Cooldowns of a process that has no Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from habakkuk.core.clock import Clock
from habakkuk.core.cooldowns import SharedCooldowns
from habakkuk.core.redis import RedisGate


class Hand(Clock):
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = 1000.0

    def monotonic(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def alone(clock: Hand) -> Iterator[SharedCooldowns]:
    gate = RedisGate("unix:///nowhere/redis.sock", clock)
    yield SharedCooldowns(gate, clock)
    gate.close()


def test_nobody_rests_at_first(alone: SharedCooldowns) -> None:
    assert alone.resting("a") == 0.0


def test_a_provider_rests_for_its_time(alone: SharedCooldowns, clock: Hand) -> None:
    alone.rest("a", 30.0)
    clock.at += 10.0
    assert alone.resting("a") == 20.0
    assert alone.resting("b") == 0.0
    clock.at += 20.0
    assert alone.resting("a") == 0.0


def test_a_shorter_rest_does_not_end_a_longer_one(alone: SharedCooldowns) -> None:
    alone.rest("a", 30.0)
    alone.rest("a", 1.0)
    assert alone.resting("a") == 30.0


def test_nobody_rests_longer_than_an_hour(alone: SharedCooldowns) -> None:
    alone.rest("a", 1e12)
    assert alone.resting("a") == 3600.0


@pytest.mark.parametrize("seconds", [0.0, -5.0])
def test_no_time_is_no_rest(alone: SharedCooldowns, seconds: float) -> None:
    alone.rest("a", seconds)
    assert alone.resting("a") == 0.0


def test_an_answer_ends_a_rest(alone: SharedCooldowns) -> None:
    alone.rest("openai", 60)
    alone.wake("openai")
    assert alone.resting("openai") == 0.0
