"""What processes tell each other of search back-ends, through Redis and while it is away."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from habakkuk.core.config.searching import SearchConfig, SearchTuningConfig
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.redis import RedisGate
from habakkuk.search import registry
from habakkuk.search.contract import Access, Ask, BackendKind, Hit, SearchFailed
from habakkuk.search.service import Search
from habakkuk.search.tuning import Tuning

HIT = Hit("T", "https://t.example/", "")


class Scripted:
    """A back-end that fails while it is told to."""

    def __init__(self, _access: Access) -> None:
        self.failing = False
        self.asked = 0

    def search(self, ask: Ask) -> Sequence[Hit]:
        self.asked += 1
        if self.failing:
            raise SearchFailed("it is broken")
        return [HIT]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Scripted]:
    """Every back-end that is made, in order: two for each Search."""
    made: list[Scripted] = []

    def make(access: Access) -> Scripted:
        made.append(Scripted(access))
        return made[-1]

    kinds = {name: BackendKind(name, make) for name in ("one", "two")}
    monkeypatch.setattr(registry, "kinds", lambda: kinds)
    return made


def process(url: str) -> Search:
    config = SearchConfig.model_validate({"backends": ["one", "two"], "keyless": False})
    return Search(config, {}, None, RedisGate(url))


def by(search: Search) -> str:
    return search.search("q", 1, Interrupt()).by


def test_what_one_process_learned_spares_the_others(redis_url: str, made: list[Scripted]) -> None:
    first, second = process(redis_url), process(redis_url)
    made[0].failing = True
    assert by(first) == "two"
    assert by(second) == "two"
    assert made[2].asked == 0


def test_an_answer_ends_a_rest_for_all(redis_url: str, made: list[Scripted]) -> None:
    first, second = process(redis_url), process(redis_url)
    made[0].failing = True
    by(first)
    made[3].failing = True
    assert by(second) == "one"
    made[0].failing = False
    made[1].failing = True
    assert by(first) == "one"


def test_without_redis_a_process_goes_by_what_it_knows(made: list[Scripted]) -> None:
    # Nobody listens there.
    url = "redis://127.0.0.1:1/0"
    first, second = process(url), process(url)
    made[0].failing = True
    assert by(first) == "two"
    assert by(first) == "two"
    assert made[0].asked == 1
    assert by(second) == "one"


def test_what_was_learned_of_times_is_shared(redis_url: str) -> None:
    config = SearchTuningConfig.model_validate({"enabled": True, "max_bump": "8s"})
    first = Tuning(config, RedisGate(redis_url))
    second = Tuning(config, RedisGate(redis_url))
    alone = Tuning(config, None)
    first.late("one")
    assert (first.longer("one"), second.longer("one"), alone.longer("one")) == (5.0, 5.0, 0.0)
    first.late("one")
    assert first.longer("one") == 5.0
    second.late("one")
    assert second.longer("one") == 8.0
    assert Tuning(config, RedisGate(redis_url)).longer("one") == 8.0
    for _ in range(10):
        alone.timely("one")
    third = Tuning(config, RedisGate(redis_url))
    for _ in range(10):
        third.timely("one")
    assert first.longer("one") == 3.0
