"""Stopping work in another thread."""

from __future__ import annotations

import threading

import pytest

from habakkuk.core.interrupt import Interrupt, Interrupted, Reason


def test_untripped_work_goes_on() -> None:
    interrupt = Interrupt()
    interrupt.check()
    assert interrupt.reason is None
    assert not interrupt.wait(0)


@pytest.mark.parametrize("reason", list(Reason))
def test_a_check_raises_the_reason(reason: Reason) -> None:
    interrupt = Interrupt()
    interrupt.trip(reason)
    with pytest.raises(Interrupted) as caught:
        interrupt.check()
    assert caught.value.reason is reason
    assert interrupt.wait(60)


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        (Reason.STOPPING, Reason.CANCELLED, Reason.CANCELLED),
        (Reason.CANCELLED, Reason.STOPPING, Reason.CANCELLED),
        (Reason.CANCELLED, Reason.LEASE_LOST, Reason.LEASE_LOST),
        (Reason.LEASE_LOST, Reason.CANCELLED, Reason.LEASE_LOST),
        (Reason.LEASE_LOST, Reason.STOPPING, Reason.LEASE_LOST),
    ],
)
def test_the_higher_reason_counts(first: Reason, second: Reason, counts: Reason) -> None:
    interrupt = Interrupt()
    interrupt.trip(first)
    interrupt.trip(second)
    assert interrupt.reason is counts


def test_a_trip_frees_what_blocks() -> None:
    interrupt, freed = Interrupt(), threading.Event()
    with interrupt.freeing(freed.set):
        assert not freed.is_set()
        interrupt.trip(Reason.CANCELLED)
        assert freed.is_set()


def test_what_begins_after_the_trip_is_freed_at_once() -> None:
    interrupt, freed = Interrupt(), threading.Event()
    interrupt.trip(Reason.CANCELLED)
    with interrupt.freeing(freed.set):
        assert freed.is_set()


def test_what_ended_before_the_trip_is_left_alone() -> None:
    interrupt, freed = Interrupt(), threading.Event()
    with interrupt.freeing(freed.set):
        pass
    interrupt.trip(Reason.CANCELLED)
    assert not freed.is_set()


def test_what_ended_with_an_error_is_left_alone() -> None:
    interrupt, freed = Interrupt(), threading.Event()
    with pytest.raises(ValueError, match="a fault"), interrupt.freeing(freed.set):
        raise ValueError("a fault")
    interrupt.trip(Reason.CANCELLED)
    assert not freed.is_set()


def test_a_higher_reason_frees_again() -> None:
    interrupt, reasons = Interrupt(), list[Reason | None]()
    with interrupt.freeing(lambda: reasons.append(interrupt.reason)):
        interrupt.trip(Reason.STOPPING)
        interrupt.trip(Reason.STOPPING)
        interrupt.trip(Reason.LEASE_LOST)
    assert reasons == [Reason.STOPPING, Reason.LEASE_LOST]


def test_nobody_stays_blocked_when_trips_race_with_beginnings() -> None:
    for _ in range(200):
        interrupt = Interrupt()
        begun = threading.Barrier(9)
        blocked = [threading.Event() for _ in range(8)]

        def block(event: threading.Event, barrier: threading.Barrier, stop: Interrupt) -> None:
            barrier.wait()
            with stop.freeing(event.set):
                event.wait()

        threads = [
            threading.Thread(target=block, args=(event, begun, interrupt)) for event in blocked
        ]
        for thread in threads:
            thread.start()
        begun.wait()
        interrupt.trip(Reason.CANCELLED)
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()


@pytest.mark.parametrize("room", [threading.Lock(), threading.BoundedSemaphore(1)])
def test_a_room_is_held_and_left(room: threading.Lock | threading.Semaphore) -> None:
    interrupt = Interrupt()
    with interrupt.holding(room):
        assert not room.acquire(blocking=False)
    assert room.acquire(blocking=False)


def test_who_waits_for_a_room_can_be_interrupted() -> None:
    room, interrupt = threading.Lock(), Interrupt()
    room.acquire()
    threading.Timer(0.05, interrupt.trip, (Reason.CANCELLED,)).start()
    with pytest.raises(Interrupted), interrupt.holding(room):
        pass
    assert room.locked()
