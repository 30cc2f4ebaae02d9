from __future__ import annotations

import threading
import time

from habakkuk.jobs.slots import Slots


class Pool:
    """Slots whose jobs wait at a gate."""

    def __init__(self, size: int, pending: int = 0) -> None:
        self.gate = threading.Semaphore(0)
        self.begun = threading.Semaphore(0)
        self.served: list[str] = []
        self.pending = pending
        self.slots = Slots("test", size, self.serve, self.refill)

    def serve(self, job: str) -> bool:
        self.served.append(job)
        self.begun.release()
        self.gate.acquire()
        return job != "gone"

    def refill(self) -> bool:
        if self.pending == 0:
            return False
        self.pending -= 1
        self.served.append("pending")
        return True


def test_an_offer_is_served_and_its_ticket_closed() -> None:
    pool = Pool(1)
    ticket = pool.slots.offer("a")
    assert ticket is not None
    assert not ticket.wait(0)
    pool.gate.release()
    assert ticket.wait(5)
    assert pool.served[0] == "a"


def test_a_full_pool_refuses_at_once() -> None:
    pool = Pool(2)
    assert pool.slots.offer("a") is not None
    assert pool.slots.offer("b") is not None
    assert pool.slots.free == 0
    assert pool.slots.offer("c") is None
    pool.gate.release(2)


def test_threads_are_made_as_they_are_needed_and_used_again() -> None:
    pool = Pool(8)
    before = threading.active_count()
    for _ in range(3):
        ticket = pool.slots.offer("a")
        pool.gate.release()
        assert ticket is not None
        assert ticket.wait(5)
        while pool.slots.free < 8:
            time.sleep(0.001)
    assert threading.active_count() == before + 1
    pool.slots.close()


def test_a_slot_that_ran_a_job_takes_what_is_pending_before_it_is_free() -> None:
    pool = Pool(1, pending=3)
    ticket = pool.slots.offer("a")
    pool.gate.release()
    assert ticket is not None
    assert ticket.wait(5)
    while pool.slots.free == 0:
        time.sleep(0.001)
    assert pool.served == ["a", "pending", "pending", "pending"]


def test_an_offer_whose_job_was_gone_looks_for_nothing() -> None:
    pool = Pool(1, pending=1)
    pool.slots.offer("gone")
    pool.gate.release()
    while pool.slots.free == 0:
        time.sleep(0.001)
    assert pool.served == ["gone"]


def test_what_was_refused_meanwhile_is_looked_for_even_then() -> None:
    pool = Pool(1, pending=1)
    pool.slots.offer("gone")
    pool.begun.acquire()
    assert pool.slots.offer("refused") is None
    pool.gate.release()
    while pool.slots.free == 0:
        time.sleep(0.001)
    assert pool.served == ["gone", "pending"]


def test_a_closed_pool_takes_nothing_and_finishes_what_it_took() -> None:
    pool = Pool(2, pending=5)
    ticket = pool.slots.offer("a")
    pool.begun.acquire()
    pool.slots.close()
    assert pool.slots.offer("b") is None
    pool.gate.release()
    assert ticket is not None
    assert ticket.wait(5)
    assert pool.served == ["a"]
