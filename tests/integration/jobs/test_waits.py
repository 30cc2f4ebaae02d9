"""Park and resolve: no wake-up is lost, whoever comes first."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.jobs.context import RunningJob, Surroundings
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.store import waits as store
from habakkuk.jobs.store.sweep import finds_something
from habakkuk.jobs.types import JobState, NewWait
from tests.integration.jobs.bench import Bench, in_threads


def running(
    bench: Bench, *waits: str, expires_in: float | None = None, **fields: Any
) -> RunningJob:
    lease = bench.claimed(**fields)
    context = RunningJob(
        bench.job(lease.id), lease, Surroundings(bench.database, Failpoints()), lambda lease: None
    )
    with bench.database.transaction() as work:
        context.guard(work)
        for wait in waits:
            context.open_wait(work, NewWait(wait, "approval", {"tool": "x"}, expires_in))
    return context


def resolve(bench: Bench, wait: str, outcome: str = "approved") -> bool:
    with bench.database.transaction() as work:
        return bench.jobs.resolve(work, wait, outcome, {"by": "ada"})


def sweep(bench: Bench) -> int:
    """Expire as the sweeper does, which first asks whether there may be something to do."""
    asked = finds_something(bench.database)
    with bench.database.transaction() as work:
        expired = store.expire(work)
    assert asked >= bool(expired)
    return expired


def test_a_parked_job_waits_without_a_lease(bench: Bench) -> None:
    context = running(bench, "w1")
    assert context.park()
    assert context.over
    (row,) = bench.sql("SELECT * FROM jobs WHERE id = :i", i=context.job.id)
    assert (row.state, row.lease_until, row.owner_lock) == ("waiting", None, None)
    assert (row.attempt, row.crashes) == (0, 0)


def test_a_parked_job_keeps_its_key(bench: Bench) -> None:
    running(bench, "w1", serial_key="k").park()
    later = bench.enqueue(serial_key="k")
    bench.runner().offer("turns", later)
    bench.settled(bench.runners[0])
    assert bench.state(later) is JobState.PENDING


def test_a_job_that_was_cancelled_does_not_park(bench: Bench) -> None:
    context = running(bench, "w1")
    with bench.database.transaction() as work:
        bench.jobs.cancel(work, context.job.id, "stopped by you")
    with pytest.raises(Interrupted) as caught:
        context.park()
    assert caught.value.reason is context.interrupt.reason is Reason.CANCELLED
    assert bench.state(context.job.id) is JobState.RUNNING


def test_resolving_wakes_the_parked_job_after_the_commit(bench: Bench) -> None:
    context = running(bench, "w1")
    context.park()
    bench.wake.woken.clear()
    with bench.database.transaction() as work:
        assert bench.jobs.resolve(work, "w1", "approved", {"by": "ada"})
        assert bench.wake.woken == []
    assert bench.wake.woken == [("turns", context.job.id)]
    assert bench.state(context.job.id) is JobState.PENDING


def test_the_outcome_and_answer_are_found_by_the_job(bench: Bench) -> None:
    context = running(bench, "w1", "w2")
    resolve(bench, "w1")
    with bench.database.transaction() as work:
        first, second = context.waits(work)
    assert (first.outcome, first.answer, first.consumed) == ("approved", {"by": "ada"}, False)
    assert (second.outcome, second.answer) == (None, None)
    assert first.payload == {"tool": "x"}


def test_a_wait_is_resolved_once(bench: Bench) -> None:
    running(bench, "w1").park()
    assert resolve(bench, "w1")
    assert not resolve(bench, "w1", "denied")
    wait = bench.jobs.get_wait("w1")
    assert wait is not None
    assert wait.outcome == "approved"


def test_an_unknown_wait_is_not_resolved(bench: Bench) -> None:
    assert not resolve(bench, "nothing")


def test_a_repeated_wait_is_opened_once(bench: Bench) -> None:
    context = running(bench, "w1")
    resolve(bench, "w1")
    with bench.database.transaction() as work:
        context.open_wait(work, NewWait("w1", "approval"))
        (wait,) = context.waits(work)
    assert wait.outcome == "approved"


def test_an_answer_before_the_park_is_not_slept_over(bench: Bench) -> None:
    context = running(bench, "w1", "w2")
    resolve(bench, "w1")
    assert not context.park()
    assert bench.state(context.job.id) is JobState.RUNNING


def test_a_consumed_answer_lets_the_job_wait_for_the_next(bench: Bench) -> None:
    context = running(bench, "w1", "w2")
    resolve(bench, "w1")
    with bench.database.transaction() as work:
        context.guard(work)
        context.consume(work, "w1")
    assert context.park()


def test_without_an_open_wait_there_is_nothing_to_park_for(bench: Bench) -> None:
    assert not running(bench).park()


def test_a_park_under_an_old_fence_is_refused(bench: Bench) -> None:
    context = running(bench, "w1")
    bench.sql("UPDATE jobs SET fence = nextval('fence_seq')")
    with pytest.raises(Interrupted) as caught:
        context.park()
    assert caught.value.reason is Reason.LEASE_LOST


def park_and_resolve_at_once(bench: Bench, wait: str) -> tuple[bool, str]:
    """Race a park with the answer it waits for; (whether it parked, the job)."""
    context = running(bench, wait)
    parked: list[bool] = []

    def act(index: int) -> None:
        if index == 0:
            parked.append(context.park())
        else:
            resolve(bench, wait)

    in_threads(2, act)
    return parked[0], context.job.id


def test_no_wake_up_is_lost_between_park_and_resolve(bench: Bench) -> None:
    for number in range(40):
        parked, job = park_and_resolve_at_once(bench, f"race{number}")
        # Parked and then woken, or never parked: never waiting for an answer that came.
        assert bench.state(job) is (JobState.PENDING if parked else JobState.RUNNING)


def test_a_resolve_waits_for_a_park_that_is_under_way(bench: Bench) -> None:
    context = running(bench, "w1")
    opened = bench.database.transaction()
    work = opened.__enter__()
    assert store.park(work, context.lease)
    resolving = threading.Thread(target=resolve, args=(bench, "w1"))
    resolving.start()
    while not bench.blocked():
        assert resolving.is_alive(), "the resolve ran past a park that is not committed"
    opened.__exit__(None, None, None)
    resolving.join()
    assert bench.state(context.job.id) is JobState.PENDING


def test_the_sweep_resolves_an_expired_wait(bench: Bench) -> None:
    context = running(bench, "w1", expires_in=-1.0)
    context.park()
    assert sweep(bench) == 1
    wait = bench.jobs.get_wait("w1")
    assert wait is not None
    assert wait.outcome == "expired"
    assert bench.state(context.job.id) is JobState.PENDING


def test_the_sweep_leaves_waits_that_have_time(bench: Bench) -> None:
    context = running(bench, "w1", expires_in=60.0)
    running(bench, "w2").park()
    context.park()
    assert sweep(bench) == 0
    assert bench.state(context.job.id) is JobState.WAITING


def test_an_expired_wait_of_a_running_job_does_not_stop_it(bench: Bench) -> None:
    context = running(bench, "w1", expires_in=-1.0)
    assert sweep(bench) == 1
    assert not context.park()


def test_an_ended_job_leaves_no_open_wait(bench: Bench) -> None:
    context = running(bench, "w1")
    with bench.database.transaction() as work:
        context.finish(work, JobState.DONE)
    assert not resolve(bench, "w1")
    wait = bench.jobs.get_wait("w1")
    assert wait is not None
    assert wait.outcome == "cancelled"


def test_a_handler_parks_and_goes_on_after_the_answer(bench: Bench) -> None:
    seen: list[str | None] = []

    def work_with_approval(context: JobContext) -> None:
        with context.database.transaction() as work:
            context.guard(work)
            context.open_wait(work, NewWait("ask", "approval"))
        if context.park():
            return
        with context.database.transaction() as work:
            context.guard(work)
            (wait,) = context.waits(work)
            context.consume(work, wait.id)
            seen.append(wait.outcome)

    bench.handler.run_with = work_with_approval
    job = bench.enqueue()
    runner = bench.runner()
    runner.offer("turns", job)
    bench.reached(job, JobState.WAITING)
    bench.settled(runner)
    resolve(bench, "ask")
    runner.offer("turns", job)
    bench.reached(job, JobState.DONE)
    assert seen == ["approved"]


def test_times_of_waiting_that_overlap_count_once(bench: Bench) -> None:
    context = running(bench, "w1", "w2", "w3")
    assert context.waited() == 0
    bench.sql("UPDATE waits SET created = '2026-01-01 10:00Z', resolved_at = '2026-01-01 10:10Z'")
    bench.sql("UPDATE waits SET resolved_at = '2026-01-01 10:15Z' WHERE id = 'w2'")
    bench.sql("UPDATE waits SET resolved_at = NULL WHERE id = 'w3'")
    assert context.waited() == 15 * 60
