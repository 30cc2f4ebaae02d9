"""Wake-ups over the broker, and over PostgreSQL while it is away."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from habakkuk.core.redis import blocking_client
from habakkuk.jobs.store.line import open_line
from habakkuk.jobs.wake import BackgroundWake, CelerySender
from tests.integration.jobs.bench import Bench, until
from tests.servers import ValkeyServer


@pytest.fixture
def wake(bench: Bench, redis_server: ValkeyServer) -> Iterator[BackgroundWake]:
    made = BackgroundWake(CelerySender(redis_server.url()), bench.database)
    yield made
    made.stop()


def messages(server: ValkeyServer, queue: str) -> list[Any]:
    client = blocking_client(server.url())
    raw = client.lrange(f"hab:1:q:{queue}", 0, -1)
    client.close()
    return [json.loads(message) for message in raw]


def heard(line: Any, number: int) -> list[tuple[str, str]]:
    came: list[tuple[str, str]] = []

    def enough() -> bool:
        came.extend(line.wait(0.1))
        return len(came) >= number

    until(enough)
    return came


def test_a_wake_up_is_a_celery_message_of_its_queue(
    wake: BackgroundWake, redis_server: ValkeyServer
) -> None:
    wake.wake("turns", "j1")
    until(lambda: messages(redis_server, "turns"))
    (message,) = messages(redis_server, "turns")
    assert message["headers"]["task"] == "habakkuk.run_job"
    assert message["headers"]["argsrepr"] == "['j1']"
    assert message["headers"]["ignore_result"] is True
    assert messages(redis_server, "deliveries") == []


def test_without_the_broker_postgresql_carries_it(
    bench: Bench, wake: BackgroundWake, redis_server: ValkeyServer
) -> None:
    redis_server.kill()
    with open_line(bench.database, "test") as line:
        line.listen()
        wake.wake("turns", "j1")
        wake.wake("subturns", "j2")
        assert heard(line, 2) == [("hab_wake", "turns j1"), ("hab_wake", "subturns j2")]


def test_a_frozen_broker_delays_nobody_who_enqueues(
    bench: Bench, wake: BackgroundWake, redis_server: ValkeyServer
) -> None:
    redis_server.freeze()
    begun = time.monotonic()
    for number in range(200):
        wake.wake("turns", f"j{number}")
    # Far below the second that one publish to the frozen server takes.
    assert time.monotonic() - begun < 0.5
    with open_line(bench.database, "test") as line:
        line.listen()
        wake.wake("turns", "last")
        until(lambda: ("hab_wake", "turns last") in line.wait(0.1))
    redis_server.thaw()


def test_the_broker_is_used_again_once_it_is_back(
    bench: Bench, wake: BackgroundWake, redis_server: ValkeyServer
) -> None:
    redis_server.kill()
    wake.wake("turns", "lost")
    until(lambda: wake._open_until > 0)
    redis_server.start()
    wake._open_until = 0.0
    wake.wake("turns", "j2")
    until(lambda: messages(redis_server, "turns"))


def test_with_both_away_a_wake_up_is_dropped_and_the_next_goes_through(
    bench: Bench, wake: BackgroundWake, redis_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from habakkuk.db.engine import DatabaseAway
    from habakkuk.jobs import wake as module

    dropped: list[Any] = []

    def away(database: Any, wakes: Any) -> None:
        dropped.extend(wakes)
        raise DatabaseAway("test")

    redis_server.kill()
    monkeypatch.setattr(module, "notify_wakes", away)
    wake.wake("turns", "j1")
    until(lambda: dropped)
    monkeypatch.undo()
    with open_line(bench.database, "test") as line:
        line.listen()
        wake.wake("turns", "j2")
        assert heard(line, 1) == [("hab_wake", "turns j2")]
