"""What every way to wake a worker promises, whatever is away."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from habakkuk.core.redis import RedisGate
from habakkuk.db.engine import Database
from habakkuk.jobs.wake import BackgroundWake, CelerySender, MemoryWake, Wake
from habakkuk.jobs.wake_list import ListSender

# Nothing listens on port 1: neither a broker nor a database is there.
_NO_REDIS = "redis://127.0.0.1:1/0"
_NO_DATABASE = "postgresql+psycopg2://nobody@127.0.0.1:1/none"


def celery_away() -> Wake:
    return BackgroundWake(CelerySender(_NO_REDIS), Database(_NO_DATABASE, pool_size=1))


def list_away() -> Wake:
    sender = ListSender(RedisGate(_NO_REDIS))
    return BackgroundWake(sender, Database(_NO_DATABASE, pool_size=1))


@pytest.fixture(
    params=[MemoryWake, celery_away, list_away], ids=["memory", "celery, away", "list, away"]
)
def wake(request: pytest.FixtureRequest) -> Wake:
    make: Callable[[], Wake] = request.param
    return make()


def test_waking_never_raises(wake: Wake) -> None:
    for number in range(100):
        wake.wake("turns", f"j{number}")
    wake.stop()


def test_stopping_twice_or_before_the_first_wake_up_is_fine(wake: Wake) -> None:
    wake.stop()
    wake.wake("turns", "j")
    wake.stop()
    wake.stop()


def test_waking_after_the_end_is_fine(wake: Wake) -> None:
    wake.wake("turns", "j")
    wake.stop()
    wake.wake("turns", "j")
