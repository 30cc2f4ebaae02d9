"""The lock of a key in Redis: the newest fence has it, and its absence hurts nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from habakkuk.core.redis import RedisGate
from habakkuk.jobs.lock import ACQUIRE, RELEASE, RENEW, Holder, LockKeeper, lock_key
from tests.integration.jobs.bench import until
from tests.servers import ValkeyServer

KEY = lock_key("s:1")


@pytest.fixture
def gate(redis_url: str) -> Iterator[RedisGate]:
    made = RedisGate(redis_url)
    yield made
    made.close()


@pytest.fixture
def keeper(gate: RedisGate) -> Iterator[LockKeeper]:
    made = LockKeeper(gate, 7)
    made.start()
    yield made
    made.stop()


def run(gate: RedisGate, script: str, *args: object) -> Any:
    return gate.call(lambda client: client.eval(script, 1, KEY, *(str(arg) for arg in args)))


def value(gate: RedisGate) -> Any:
    return gate.call(lambda client: client.get(KEY))


@pytest.mark.parametrize(
    ("held", "fence", "owner", "mine"),
    [
        (None, 5, 7, True),
        ("4:9", 5, 7, True),
        ("5:7", 5, 7, True),
        ("5:9", 5, 7, False),
        ("6:9", 5, 7, False),
        ("10:9", 9, 7, False),
        ("9:9", 10, 7, True),
        ("nonsense", 5, 7, True),
    ],
)
def test_a_newer_fence_replaces_an_older_one_only(
    gate: RedisGate, held: str | None, fence: int, owner: int, mine: bool
) -> None:
    if held is not None:
        gate.call(lambda client: client.set(KEY, held))
    assert run(gate, ACQUIRE, fence, owner, 30_000) == int(mine)
    assert value(gate) == (f"{fence}:{owner}" if mine else held)


def test_an_acquired_lock_ends_by_itself_after_thirty_seconds(gate: RedisGate) -> None:
    run(gate, ACQUIRE, 5, 7, 30_000)
    left: Any = gate.call(lambda client: client.pttl(KEY))
    assert 29_000 < left <= 30_000


@pytest.mark.parametrize(("asked", "left"), [("5:7", None), ("4:7", "5:7"), ("5:8", "5:7")])
def test_only_the_holder_releases(gate: RedisGate, asked: str, left: str | None) -> None:
    run(gate, ACQUIRE, 5, 7, 30_000)
    run(gate, RELEASE, asked)
    assert value(gate) == left


def test_only_the_holder_renews(gate: RedisGate) -> None:
    run(gate, ACQUIRE, 5, 7, 1_000)
    assert run(gate, RENEW, "5:8", 60_000) == 0
    assert run(gate, RENEW, "5:7", 60_000) == 1
    left: Any = gate.call(lambda client: client.pttl(KEY))
    assert left > 50_000


def test_the_keeper_shows_renews_and_takes_back_a_claim(
    gate: RedisGate, keeper: LockKeeper
) -> None:
    keeper.acquire("s:1", 5)
    until(lambda: keeper.holders(["s:1", "s:2"]) == {"s:1": Holder(5, 7)})
    gate.call(lambda client: client.pexpire(KEY, 2_000))
    keeper.renew([("s:1", 5)])
    until(lambda: int(str(gate.call(lambda client: client.pttl(KEY)))) > 10_000)
    keeper.release("s:1", 5)
    until(lambda: keeper.holders(["s:1"]) == {})


def test_what_is_left_is_sent_at_the_end(gate: RedisGate, keeper: LockKeeper) -> None:
    keeper.acquire("s:1", 5)
    keeper.stop()
    assert value(gate) == "5:7"


def test_a_keeper_without_redis_goes_on_once_it_is_back(redis_server: ValkeyServer) -> None:
    gate = RedisGate(redis_server.url())
    keeper = LockKeeper(gate, 7)
    keeper.start()
    redis_server.kill()
    keeper.acquire("s:1", 5)
    assert keeper.holders(["s:1"]) == {}
    until(lambda: gate.away)
    redis_server.start()
    until(lambda: not gate.away)
    keeper.acquire("s:1", 6)
    until(lambda: keeper.holders(["s:1"]) == {"s:1": Holder(6, 7)})
    keeper.stop()
    gate.close()
