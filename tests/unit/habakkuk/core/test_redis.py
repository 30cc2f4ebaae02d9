"""The breaker, without a server."""

from __future__ import annotations

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from habakkuk.core.clock import Clock
from habakkuk.core.redis import RedisAway, RedisGate, broker_url


class Hand(Clock):
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = 1000.0

    def monotonic(self) -> float:
        return self.at


class Counter:
    """An action that fails as often as it is told to."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.failures = failures
        self.error = error
        self.calls = 0

    def __call__(self, _client: object) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return "done"


@pytest.mark.parametrize("error", [RedisConnectionError("gone"), OSError("gone")])
def test_after_a_failure_nobody_asks_for_five_seconds(error: Exception) -> None:
    clock, action = Hand(), Counter(1, error)
    gate = RedisGate("redis://127.0.0.1:1", clock)
    for _ in range(3):
        with pytest.raises(RedisAway):
            gate.call(action)
    assert (action.calls, gate.away) == (1, True)
    clock.at += 4.9
    with pytest.raises(RedisAway):
        gate.call(action)
    assert action.calls == 1
    clock.at += 0.2
    assert gate.call(action) == "done"
    assert not gate.away
    gate.close()


def test_a_fault_of_our_own_does_not_open_the_breaker() -> None:
    gate = RedisGate("redis://127.0.0.1:1", Hand())
    with pytest.raises(ValueError, match="ours"):
        gate.call(Counter(1, ValueError("ours")))
    assert not gate.away
    gate.close()


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("redis://127.0.0.1:6379/3", "redis://127.0.0.1:6379/3"),
        ("rediss://u:p@h/0", "rediss://u:p@h/0"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock?virtual_host=0"),
        ("unix:///run/valkey.sock?db=2", "redis+socket:///run/valkey.sock?virtual_host=2"),
    ],
)
def test_the_broker_url_names_sockets_as_celery_does(url: str, right: str) -> None:
    assert broker_url(url) == right
