"""The line that shows a process as alive, and what it hears."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from habakkuk.jobs.presence import Ears, Presence, random_lock
from habakkuk.jobs.store.signals import notify_wakes
from tests.integration.jobs.bench import Bench, until


class Heard:
    """A presence and all that it was told."""

    def __init__(self, bench: Bench) -> None:
        self.events: list[str] = []
        self.number = random_lock()
        self.presence = Presence(
            bench.database,
            self.number,
            Ears(
                held=lambda: self.events.append("held"),
                lost=lambda: self.events.append("lost"),
                cancelled=lambda job: self.events.append(f"cancel {job}"),
                woken=lambda queue, job: self.events.append(f"wake {queue} {job}"),
                tick=lambda: None,
            ),
        )


@pytest.fixture
def heard(bench: Bench) -> Iterator[Heard]:
    made = Heard(bench)
    made.presence.start()
    assert made.presence.wait_held(10)
    yield made
    made.presence.stop()


def holders(bench: Bench, number: int) -> list[int]:
    rows = bench.sql(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 7777"
        " AND objid = CAST(:n AS oid)",
        n=number,
    )
    return [row.pid for row in rows]


def test_the_lock_is_held_while_the_process_lives(bench: Bench, heard: Heard) -> None:
    assert len(holders(bench, heard.number)) == 1
    assert heard.events == ["held"]


def test_the_lock_goes_with_its_end(bench: Bench, heard: Heard) -> None:
    heard.presence.stop()
    assert holders(bench, heard.number) == []
    assert heard.events == ["held", "lost"]


def test_a_broken_line_is_taken_up_again_with_the_same_number(bench: Bench, heard: Heard) -> None:
    (pid,) = holders(bench, heard.number)
    bench.sql("SELECT pg_terminate_backend(:p)", p=pid)
    until(lambda: heard.events == ["held", "lost", "held"])
    assert holders(bench, heard.number) not in ([], [pid])


def test_a_cancellation_is_heard(bench: Bench, heard: Heard) -> None:
    lease = bench.claimed()
    with bench.database.transaction() as work:
        bench.jobs.cancel(work, lease.id, "stop")
    until(lambda: f"cancel {lease.id}" in heard.events)


def test_a_rolled_back_cancellation_is_not_heard(bench: Bench, heard: Heard) -> None:
    kept, gone = bench.claimed(), bench.claimed()
    with pytest.raises(RuntimeError), bench.database.transaction() as work:  # noqa: PT012 - the transaction is what is undone
        bench.jobs.cancel(work, gone.id, "stop")
        raise RuntimeError("the transaction is undone")
    with bench.database.transaction() as work:
        bench.jobs.cancel(work, kept.id, "stop")
    until(lambda: f"cancel {kept.id}" in heard.events)
    assert f"cancel {gone.id}" not in heard.events


def test_a_wake_up_over_postgresql_is_heard(bench: Bench, heard: Heard) -> None:
    notify_wakes(bench.database, [("turns", "a"), ("deliveries.x y", "b")])
    until(lambda: "wake turns a" in heard.events)
