"""What pollers and fetches have in common, whichever platform they talk to."""

from __future__ import annotations

import time

import pytest

from habakkuk.channels.contract import Bounds, NotFetched
from habakkuk.channels.polling import ChannelPoller
from habakkuk.core.errors import Unavailable
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason


def test_what_cannot_be_stored_now_is_handed_over_again() -> None:
    tries: list[int] = []

    def store() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise Unavailable("the database is away", retry_after=0.0)

    ChannelPoller.hand_over(store, Interrupt())
    assert len(tries) == 3


def test_who_is_stopped_hands_nothing_over() -> None:
    interrupt = Interrupt()
    interrupt.trip(Reason.STOPPING)
    with pytest.raises(Interrupted):
        ChannelPoller.hand_over(pytest.fail, interrupt)


def test_a_stop_ends_the_wait_for_what_cannot_be_stored() -> None:
    interrupt = Interrupt()

    def store() -> None:
        interrupt.trip(Reason.STOPPING)
        raise Unavailable("the database is away", retry_after=600.0)

    with pytest.raises(Interrupted):
        ChannelPoller.hand_over(store, interrupt)


def test_a_request_may_take_what_is_left_of_the_time() -> None:
    assert Bounds(1, seconds=7.0).left() == 7.0
    assert 0 < Bounds(1, end=time.monotonic() + 5.0, seconds=7.0).left() <= 5.0
    with pytest.raises(NotFetched):
        Bounds(1, end=time.monotonic()).left()
