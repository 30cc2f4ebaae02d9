"""Cooldowns that processes share."""

from __future__ import annotations

import pytest

from habakkuk.core.cooldowns import SharedCooldowns
from habakkuk.core.redis import RedisGate
from tests.servers import ValkeyServer


def process(url: str) -> SharedCooldowns:
    """Return the cooldowns of one more process."""
    return SharedCooldowns(RedisGate(url))


def test_what_one_process_learned_the_others_know(redis_url: str) -> None:
    one, other = process(redis_url), process(redis_url)
    one.rest("a", 30.0)
    assert 25.0 < other.resting("a") <= 30.0
    assert other.resting("b") == 0.0


def test_a_shorter_rest_of_another_does_not_end_a_longer_one(redis_url: str) -> None:
    process(redis_url).rest("a", 30.0)
    process(redis_url).rest("a", 1.0)
    assert process(redis_url).resting("a") > 25.0


def test_a_longer_rest_of_another_counts(redis_url: str) -> None:
    process(redis_url).rest("a", 1.0)
    process(redis_url).rest("a", 30.0)
    assert process(redis_url).resting("a") > 25.0


def test_a_rest_ends_by_itself_in_redis(redis_url: str) -> None:
    process(redis_url).rest("a", 30.0)
    gate = RedisGate(redis_url)
    keys = gate.call(lambda client: list(client.scan_iter("hab:1:rest:*")))
    assert len(keys) == 1
    assert gate.call(lambda client: client.pttl(keys[0])) > 0
    gate.close()


@pytest.mark.parametrize("seconds", [30.0])
def test_without_redis_a_process_still_knows_its_own(
    redis_server: ValkeyServer, seconds: float
) -> None:
    mine = process(redis_server.url())
    mine.rest("a", seconds)
    redis_server.stop()
    assert mine.resting("a") > 25.0
    mine.rest("b", seconds)
    assert mine.resting("b") > 25.0


def test_an_answer_ends_the_rest_for_every_process(redis_url: str) -> None:
    first, second = process(redis_url), process(redis_url)
    first.rest("openai", 60)
    assert second.resting("openai") > 0
    second.wake("openai")
    assert process(redis_url).resting("openai") == 0
