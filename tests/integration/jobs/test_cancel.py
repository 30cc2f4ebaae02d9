"""Cancel in every state of a job, and an operator's second try."""

from __future__ import annotations

import threading

import pytest

from habakkuk.core.interrupt import Reason
from habakkuk.jobs.contract import JobContext, Retry
from habakkuk.jobs.types import JobState, NewWait
from tests.integration.jobs.bench import Bench, until


def cancel(bench: Bench, job: str, reason: str = "stopped by ada") -> JobState | None:
    with bench.database.transaction() as work:
        return bench.jobs.cancel(work, job, reason)


def wait_for_trip(context: JobContext) -> None:
    context.interrupt.wait(10)
    context.interrupt.check()


def test_a_pending_job_ends_at_once_and_its_handler_records_it(bench: Bench) -> None:
    job = bench.enqueue()
    assert cancel(bench, job) is JobState.CANCELLED
    assert bench.state(job) is JobState.CANCELLED
    assert bench.handler.locked == [job]
    assert bench.handler.ends == [(job, JobState.CANCELLED, "stopped by ada")]
    assert bench.job(job).error == "stopped by ada"


def test_a_waiting_job_ends_and_its_open_waits_with_it(bench: Bench) -> None:
    def park(context: JobContext) -> None:
        with context.database.transaction() as work:
            context.guard(work)
            context.open_wait(work, NewWait("w", "approval"))
        context.park()

    bench.handler.run_with = park
    job = bench.enqueue()
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.WAITING)
    assert cancel(bench, job) is JobState.CANCELLED
    wait = bench.jobs.get_wait("w")
    assert wait is not None
    assert wait.outcome == "cancelled"
    assert bench.handler.ends == [(job, JobState.CANCELLED, "stopped by ada")]


def test_a_running_job_is_told_and_ends_itself(bench: Bench) -> None:
    bench.handler.run_with = wait_for_trip
    job = bench.enqueue()
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.RUNNING)
    until(lambda: bench.handler.runs)
    assert cancel(bench, job) is JobState.RUNNING
    assert bench.job(job).cancel_requested
    bench.leases.cancel(job)
    bench.reached(job, JobState.CANCELLED)
    assert bench.handler.ends == [(job, JobState.CANCELLED, "stopped by ada")]


def test_a_cancelled_job_that_finishes_first_is_done(bench: Bench) -> None:
    finish = threading.Event()

    def finish_late(context: JobContext) -> None:
        finish.wait(10)
        with context.database.transaction() as work:
            context.finish(work, JobState.DONE)
        context.interrupt.check()

    bench.handler.run_with = finish_late
    job = bench.enqueue()
    runner = bench.runner()
    runner.offer("turns", job)
    bench.reached(job, JobState.RUNNING)
    cancel(bench, job)
    bench.leases.cancel(job)
    finish.set()
    bench.settled(runner)
    assert bench.state(job) is JobState.DONE
    assert bench.handler.ends == []


def test_any_failure_of_a_cancelled_job_is_its_cancellation(bench: Bench) -> None:
    def broken_socket(context: JobContext) -> None:
        context.interrupt.wait(10)
        raise ConnectionError("the socket was shut down")

    bench.handler.run_with = broken_socket
    job = bench.enqueue()
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.RUNNING)
    cancel(bench, job)
    until(lambda: bench.leases.cancel(job))
    bench.reached(job, JobState.CANCELLED)


def test_a_job_cancelled_while_its_worker_died_is_ended_by_the_next(bench: Bench) -> None:
    lease = bench.claimed()
    cancel(bench, lease.id)
    bench.sql("UPDATE jobs SET state = 'pending' WHERE id = :i", i=lease.id)
    bench.runner().offer("turns", lease.id)
    bench.reached(lease.id, JobState.CANCELLED)
    assert bench.handler.runs == []
    assert bench.handler.ends == [(lease.id, JobState.CANCELLED, "stopped by ada")]


def test_a_failure_that_crossed_its_cancellation_does_not_wait_for_its_back_off(
    bench: Bench,
) -> None:
    def fail_after_cancel(context: JobContext) -> None:
        cancel(bench, context.job.id)
        raise Retry("failed", after=600)

    bench.handler.run_with = fail_after_cancel
    job = bench.enqueue()
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.CANCELLED)
    assert bench.job(job).error == "stopped by ada"


@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
def test_an_ended_job_stays_as_it_is(bench: Bench, state: str) -> None:
    job = bench.enqueue()
    bench.sql("UPDATE jobs SET state = :s WHERE id = :i", s=state, i=job)
    assert cancel(bench, job) is None
    assert bench.state(job) == state
    assert bench.handler.ends == []


def test_an_unknown_job_is_nothing(bench: Bench) -> None:
    assert cancel(bench, "nothing") is None


def test_cancelled_wins_over_stopping_and_the_lost_lease_over_both(bench: Bench) -> None:
    assert Reason.STOPPING < Reason.CANCELLED < Reason.LEASE_LOST


def test_an_operator_runs_a_failed_job_again_behind_its_keys_others(bench: Bench) -> None:
    job, other = bench.enqueue(serial_key="k"), bench.enqueue(serial_key="k")
    bench.sql("UPDATE jobs SET state = 'failed', attempt = 5, crashes = 3 WHERE id = :i", i=job)
    bench.wake.woken.clear()
    with bench.database.transaction() as work:
        assert bench.jobs.retry(work, job)
    row = bench.job(job)
    assert (row.state, row.attempt, row.crashes, row.finished) == (JobState.PENDING, 0, 0, None)
    assert row.seq > bench.job(other).seq
    assert bench.wake.woken == [("turns", job)]


@pytest.mark.parametrize("state", ["pending", "running", "waiting", "done", "cancelled"])
def test_only_a_failed_job_is_run_again(bench: Bench, state: str) -> None:
    job = bench.enqueue()
    bench.sql("UPDATE jobs SET state = :s WHERE id = :i", s=state, i=job)
    with bench.database.transaction() as work:
        assert not bench.jobs.retry(work, job)
    assert bench.state(job) == state


def test_jobs_are_listed_newest_first_by_what_is_asked(bench: Bench) -> None:
    first, second, third = bench.enqueue(), bench.enqueue(kind="other"), bench.enqueue()
    bench.sql("UPDATE jobs SET state = 'failed', finished = now() WHERE id = :i", i=third)
    assert [job.id for job in bench.jobs.list()] == [third, second, first]
    assert [job.id for job in bench.jobs.list(kind="other")] == [second]
    assert [job.id for job in bench.jobs.list([JobState.FAILED])] == [third]
    assert [job.id for job in bench.jobs.list(most=1)] == [third]


def test_counts_show_each_queue_and_state_with_its_oldest(bench: Bench) -> None:
    bench.enqueue()
    old = bench.enqueue()
    bench.sql("UPDATE jobs SET run_at = now() - interval '1 hour' WHERE id = :i", i=old)
    bench.enqueue(queue="deliveries")
    counts = {(count.queue, count.state): count for count in bench.jobs.counts()}
    assert counts["turns", JobState.PENDING].jobs == 2
    assert counts["turns", JobState.PENDING].oldest == bench.job(old).run_at
    assert counts["deliveries", JobState.PENDING].jobs == 1
