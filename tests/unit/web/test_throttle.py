from __future__ import annotations

import pytest

from web.errors import Refused
from web.throttle import Throttle


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def fail(throttle: Throttle, source: str, times: int) -> None:
    for n in range(times):
        throttle.attempt(source, f"wrong {n}")


def test_the_thirty_first_wrong_token_of_a_minute_is_not_even_checked() -> None:
    throttle = Throttle(Time())
    fail(throttle, "a", 30)
    with pytest.raises(Refused) as caught:
        throttle.attempt("a", "wrong")
    assert caught.value.status == 429
    assert caught.value.retry_after == 60


def test_other_sources_go_on() -> None:
    throttle = Throttle(Time())
    fail(throttle, "a", 30)
    throttle.attempt("b", "some token")


def test_many_sources_together_are_held_up_too() -> None:
    throttle = Throttle(Time())
    for n in range(30):
        fail(throttle, f"source {n}", 10)
    with pytest.raises(Refused):
        throttle.attempt("one more", "wrong")


def test_a_minute_later_all_is_forgotten() -> None:
    time = Time()
    throttle = Throttle(time)
    fail(throttle, "a", 30)
    time.now += 61
    throttle.attempt("a", "some token")


def test_good_tokens_do_not_count() -> None:
    throttle = Throttle(Time())
    for _ in range(100):
        throttle.attempt("a", "good")
        throttle.succeeded("a", "good")


def test_a_token_that_was_good_is_not_held_up_by_guesses_of_others() -> None:
    throttle = Throttle(Time())
    throttle.attempt("a", "good")
    throttle.succeeded("a", "good")
    fail(throttle, "a", 30)
    throttle.attempt("a", "good")


def test_what_could_not_be_checked_is_no_failure() -> None:
    throttle = Throttle(Time())
    for _ in range(100):
        throttle.attempt("a", "token")
        throttle.take_back("a")
