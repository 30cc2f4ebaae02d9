from __future__ import annotations

from datetime import UTC, datetime

import pytest

from habakkuk.core.clock import Clock
from web.errors import Refused
from web.throttle import Throttle


class Time(Clock):
    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)


def fail(throttle: Throttle, source: str, times: int) -> None:
    for n in range(times):
        throttle.failed(throttle.attempt(source, f"wrong {n}"))


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
    time.seconds += 61
    throttle.attempt("a", "some token")


def test_good_tokens_do_not_count() -> None:
    throttle = Throttle(Time())
    for n in range(100):
        throttle.succeeded(throttle.attempt("a", f"good {n}"))


def test_a_token_that_was_good_is_not_held_up_by_guesses_of_others() -> None:
    throttle = Throttle(Time())
    throttle.succeeded(throttle.attempt("a", "good"))
    fail(throttle, "a", 30)
    throttle.attempt("a", "good")


def test_a_token_that_is_good_no_longer_is_held_up_like_any_other() -> None:
    throttle = Throttle(Time())
    throttle.succeeded(throttle.attempt("a", "revoked since"))
    fail(throttle, "a", 30)
    throttle.failed(throttle.attempt("a", "revoked since"))
    with pytest.raises(Refused):
        throttle.attempt("a", "revoked since")


def test_what_works_once_is_not_remembered_as_good() -> None:
    throttle = Throttle(Time())
    throttle.succeeded(throttle.attempt("a", "link"), remember=False)
    fail(throttle, "a", 30)
    with pytest.raises(Refused):
        throttle.attempt("a", "link")


def test_attempts_that_run_at_once_are_counted_before_any_is_checked() -> None:
    throttle = Throttle(Time())
    for n in range(30):
        throttle.attempt("a", f"in flight {n}")
    with pytest.raises(Refused):
        throttle.attempt("a", "one more")


def test_what_could_not_be_checked_is_no_failure() -> None:
    throttle = Throttle(Time())
    for n in range(100):
        throttle.take_back(throttle.attempt("a", f"token {n}"))


def test_an_ipv6_source_is_its_network() -> None:
    throttle = Throttle(Time())
    for n in range(30):
        fail(throttle, f"2001:db8:1:2::{n:x}", 1)
    with pytest.raises(Refused):
        throttle.attempt("2001:db8:1:2:ffff::1", "wrong")
    throttle.attempt("2001:db8:1:3::1", "wrong")


def test_an_ipv4_source_written_as_ipv6_is_the_same() -> None:
    throttle = Throttle(Time())
    fail(throttle, "198.51.100.7", 30)
    with pytest.raises(Refused):
        throttle.attempt("::ffff:198.51.100.7", "wrong")


def test_one_secret_in_many_requests_at_once_is_one_guess() -> None:
    """As after a start, when a program's connections all come before the first was answered."""
    throttle = Throttle(Time())
    attempts = [throttle.attempt("a", "the token") for _ in range(200)]
    for attempt in attempts:
        throttle.succeeded(attempt)
    fail(throttle, "a", 30)


def test_a_wrong_secret_counts_again_once_it_was_checked() -> None:
    throttle = Throttle(Time())
    for _ in range(30):
        attempts = [throttle.attempt("a", "wrong") for _ in range(3)]
        for attempt in attempts:
            throttle.failed(attempt)
    with pytest.raises(Refused):
        throttle.attempt("a", "wrong")
