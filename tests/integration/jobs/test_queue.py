"""Enqueue and claim: the order, the head of a key, one running job a key whatever races."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from habakkuk.db.engine import Database
from habakkuk.db.statements import Prepared, Rows
from habakkuk.jobs.store import lease as leases
from habakkuk.jobs.store import queue
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.store.queue import Owner
from habakkuk.jobs.types import Job, JobState
from tests.integration.jobs.bench import Bench, in_threads, until

ME = Owner("me", 1)


def claim_next(bench: Bench) -> Job | None:
    return queue.claim_next(bench.database, "turns", ME)


def claim_one(bench: Bench, job: str) -> Job | None:
    return queue.claim_one(bench.database, job, ME)


def finish(bench: Bench, job: Job) -> None:
    assert job.fence is not None
    assert leases.finish_alone(bench.database, Lease(job.id, job.fence), JobState.DONE, {})


def test_a_known_id_changes_nothing_and_wakes_nobody(bench: Bench) -> None:
    job = bench.enqueue(payload={"n": 1})
    bench.enqueue(id=job, payload={"n": 2})
    assert bench.job(job).payload == {"n": 1}
    assert bench.wake.woken == [("turns", job)]


def test_a_rolled_back_enqueue_wakes_nobody(bench: Bench) -> None:
    def enqueue_and_fail() -> None:
        with bench.database.transaction() as work:
            bench.jobs.enqueue(work, bench.new(id="gone"))
            raise RuntimeError("rolled back")

    with pytest.raises(RuntimeError):
        enqueue_and_fail()
    assert bench.wake.woken == []
    assert bench.jobs.get("gone") is None


def test_a_delayed_job_is_not_due_and_wakes_nobody(bench: Bench) -> None:
    job = bench.enqueue(delay=60.0)
    assert bench.wake.woken == []
    assert claim_one(bench, job) is None
    assert claim_next(bench) is None


def test_a_claim_gives_a_new_and_higher_fence_each_time(bench: Bench) -> None:
    bench.enqueue()
    bench.enqueue()
    first, second = claim_next(bench), claim_next(bench)
    assert first is not None
    assert second is not None
    assert first.state is JobState.RUNNING
    assert (second.fence or 0) > (first.fence or 0) > 0


def test_urgent_jobs_come_first_then_older_ones(bench: Bench) -> None:
    late, urgent, later = bench.enqueue(), bench.enqueue(priority=1), bench.enqueue()
    claimed = [claim_next(bench) for _ in range(3)]
    assert [job.id for job in claimed if job is not None] == [urgent, late, later]


def test_a_claim_stays_in_its_queue(bench: Bench) -> None:
    bench.enqueue(queue="deliveries")
    assert claim_next(bench) is None


def test_only_the_head_of_a_key_is_claimed(bench: Bench) -> None:
    first, second = bench.enqueue(serial_key="k"), bench.enqueue(serial_key="k")
    assert claim_one(bench, second) is None
    head = claim_next(bench)
    assert head is not None
    assert head.id == first
    assert claim_next(bench) is None
    finish(bench, head)
    assert claim_one(bench, second) is not None


@pytest.mark.parametrize("state", ["waiting", "running"])
def test_a_job_that_holds_its_key_blocks_even_those_before_it(bench: Bench, state: str) -> None:
    first, second = bench.enqueue(serial_key="k"), bench.enqueue(serial_key="k")
    bench.sql("UPDATE jobs SET state = :s WHERE id = :i", s=state, i=second)
    assert claim_one(bench, first) is None


def test_a_retry_that_is_not_due_keeps_its_place(bench: Bench) -> None:
    first, second = bench.enqueue(serial_key="k"), bench.enqueue(serial_key="k")
    bench.sql("UPDATE jobs SET run_at = now() + interval '1 hour' WHERE id = :i", i=first)
    assert claim_one(bench, second) is None


def test_keys_do_not_block_each_other_nor_jobs_without_one(bench: Bench) -> None:
    for key in ("a", "b", None, None):
        bench.enqueue(serial_key=key)
    assert all(claim_next(bench) is not None for _ in range(4))


def test_two_crashes_keep_a_job_from_ordinary_claims(bench: Bench) -> None:
    job = bench.enqueue()
    bench.sql("UPDATE jobs SET crashes = 2 WHERE id = :i", i=job)
    assert claim_one(bench, job) is None
    assert claim_next(bench) is None
    poison = queue.claim_poison(bench.database, ["turns"], ME)
    assert poison is not None
    assert poison.id == job


def race(bench: Bench, claims: int) -> int:
    """Let many claim the jobs of one key at once, and return how many ran at most."""
    jobs = [bench.enqueue(serial_key="k") for _ in range(claims)]
    most = 0
    running = 0
    lock = threading.Lock()

    def work(index: int) -> None:
        nonlocal most, running
        for _ in range(8):
            job = claim_one(bench, jobs[index]) or claim_next(bench)
            if job is None:
                continue
            with lock:
                running += 1
                most = max(most, running)
            with lock:
                running -= 1
            finish(bench, job)

    in_threads(claims, work)
    return most


def test_racing_claims_never_run_two_of_a_key(bench: Bench) -> None:
    assert race(bench, 8) == 1


def hold_claim_open(bench: Bench, job: str) -> Callable[[], None]:
    """Claim a job in a transaction that is still open, as a slow commit is."""
    opened = bench.database.transaction()
    work = opened.__enter__()
    work.execute(queue._CLAIM_ONE, id=job, owner="other", owner_lock=2, lease=30)
    return lambda: opened.__exit__(None, None, None)  # type: ignore[return-value]  # not used


def two_heads(bench: Bench) -> tuple[str, str]:
    """Two jobs of a key, each of which looks like the head to a claim that began in time."""
    first, second = bench.enqueue(serial_key="k"), bench.enqueue(serial_key="k")
    bench.sql("UPDATE jobs SET state = 'done' WHERE id = :i", i=first)
    return first, second


def forced_race(bench: Bench) -> int:
    """The race that the head test alone loses: the earlier job comes back while the later is taken.

    Returns how many jobs of the key run after it.
    """
    first, second = two_heads(bench)
    commit = hold_claim_open(bench, second)
    bench.sql("UPDATE jobs SET state = 'pending' WHERE id = :i", i=first)
    claimed = threading.Thread(target=lambda: claim_one(bench, first))
    claimed.start()
    # With the index the second claim waits for the first one's commit, without it it runs through.
    until(lambda: bench.blocked() or not claimed.is_alive())
    commit()
    claimed.join()
    (row,) = bench.sql("SELECT count(*) AS n FROM jobs WHERE state = 'running'")
    return int(row.n)


def test_a_forced_race_leaves_one_running(bench: Bench) -> None:
    assert forced_race(bench) == 1


def test_without_the_partial_index_the_same_race_runs_two(fresh_database_url: str) -> None:
    database = Database(fresh_database_url, pool_size=4)
    bench = Bench(database)
    bench.sql("DROP INDEX jobs_one_running")
    assert forced_race(bench) == 2
    database.dispose()


def test_a_small_job_costs_three_statements(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[Prepared] = []
    job = bench.enqueue()
    runner = bench.runner(size=1)
    rows = Prepared.rows

    def noted(statement: Prepared, cursor: Any) -> Rows:
        statements.append(statement)
        return rows(statement, cursor)

    monkeypatch.setattr(Prepared, "rows", noted)
    runner.offer("turns", job)
    bench.settled(runner)
    # Claim, finish, next claim: one statement each, and no BEGIN or COMMIT around them.
    assert len(statements) == 3
