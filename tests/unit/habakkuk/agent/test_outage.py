"""A record waits for the database, and never longer than the turn can still be ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from habakkuk.agent import outage
from habakkuk.agent.run import TurnRun
from habakkuk.core.clock import Clock
from habakkuk.core.interrupt import Interrupt, Reason
from habakkuk.db.engine import DatabaseAway
from habakkuk.jobs.leases import TRUST_SECONDS


class Hurried(Clock):
    """A clock on which each look takes ten seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        self.seconds += 10.0
        return self.seconds


def turn(interrupt: Interrupt, clock: Clock) -> TurnRun:
    made = SimpleNamespace(
        ports=SimpleNamespace(clock=clock), context=SimpleNamespace(interrupt=interrupt)
    )
    return cast("TurnRun", made)


def away() -> None:
    raise DatabaseAway("it restarts")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "_PAUSE_SECONDS", 0.0)


def test_it_ends_when_the_lease_is_lost() -> None:
    interrupt = Interrupt()
    interrupt.trip(Reason.LEASE_LOST)
    with pytest.raises(DatabaseAway):
        outage.outlast(turn(interrupt, Clock()), away)


def test_it_ends_when_the_lease_must_have_ended() -> None:
    clock = Hurried()
    with pytest.raises(DatabaseAway):
        outage.outlast(turn(Interrupt(), clock), away)
    assert clock.seconds > TRUST_SECONDS


def test_other_failures_pass_at_once() -> None:
    tries: list[int] = []

    def broken() -> None:
        tries.append(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        outage.outlast(turn(Interrupt(), Clock()), broken)
    assert tries == [1]
