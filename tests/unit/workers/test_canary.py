from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from habakkuk.core.clock import Clock
from habakkuk.jobs.wake import Producer
from workers.canary import Canary


class Broker:
    """A producer that may be away."""

    def __init__(self) -> None:
        self.away = False
        self.sent: list[tuple[str, str]] = []

    def send(self, queue: str, task: str, args: Sequence[str]) -> None:
        if self.away:
            raise ConnectionError
        self.sent.append((queue, task))

    def close(self) -> None:
        """Nothing is open."""


class Cage:
    """A canary with a clock that the test moves."""

    def __init__(self) -> None:
        self.time = 0.0
        self.broker = Broker()
        self.room = True
        self.deaf: list[float] = []
        clock = Clock()
        clock.monotonic = lambda: self.time  # type: ignore[method-assign]  # the test's clock
        self.canary = Canary(
            cast("Producer", self.broker),
            "canary.w1",
            lambda: self.room,
            lambda: self.deaf.append(self.time),
            clock,
        )

    def send_at(self, *times: float) -> None:
        for self.time in times:
            self.canary.send()


def test_it_sends_to_the_workers_own_queue() -> None:
    cage = Cage()
    cage.send_at(0)
    assert cage.broker.sent == [("canary.w1", "habakkuk.canary")]


def test_thirty_seconds_of_silence_are_deafness() -> None:
    cage = Cage()
    cage.send_at(0, 10, 20)
    assert cage.deaf == []
    cage.send_at(30)
    assert cage.deaf == [30]


def test_a_worker_that_hears_is_well() -> None:
    cage = Cage()
    for second in range(0, 200, 10):
        cage.send_at(second)
        cage.canary.seen()
    assert cage.deaf == []


def test_silence_is_counted_from_the_first_unheard_message() -> None:
    cage = Cage()
    cage.send_at(0)
    cage.canary.seen()
    cage.send_at(10, 20, 30)
    assert cage.deaf == []
    cage.send_at(40)
    assert cage.deaf == [40]


def test_a_broker_that_is_away_proves_nothing() -> None:
    cage = Cage()
    cage.send_at(0, 10, 20)
    cage.broker.away = True
    cage.send_at(30)
    cage.broker.away = False
    cage.send_at(40, 50, 60)
    assert cage.deaf == []
    cage.send_at(70)
    assert cage.deaf == [70]


def test_a_full_worker_may_be_silent() -> None:
    cage = Cage()
    cage.room = False
    cage.send_at(*range(0, 100, 10))
    assert cage.deaf == []
