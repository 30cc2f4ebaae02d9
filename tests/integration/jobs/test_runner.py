from __future__ import annotations

import threading

import pytest

from habakkuk.core.errors import ExternalError
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.jobs.contract import JobContext, Retry
from habakkuk.jobs.types import JobState
from tests.integration.jobs.bench import Bench, until


def test_an_enqueued_job_runs_and_is_done(bench: Bench) -> None:
    job = bench.enqueue(payload={"n": 1})
    ticket = bench.runner().offer("turns", job)
    assert ticket is not None
    assert ticket.wait(10)
    assert bench.state(job) is JobState.DONE
    assert bench.handler.runs == [job]
    assert bench.handler.ends == []


def test_a_job_of_an_unknown_kind_fails_and_says_so(bench: Bench) -> None:
    job = bench.enqueue(kind="nobody")
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.FAILED)
    assert "nobody" in (bench.job(job).error or "")


def test_a_free_slot_takes_the_next_pending_job_by_itself(bench: Bench) -> None:
    first, second, third = bench.enqueue(), bench.enqueue(), bench.enqueue()
    bench.runner(size=1).offer("turns", first)
    for job in (first, second, third):
        bench.reached(job, JobState.DONE)


def test_an_offer_to_a_full_pool_returns_at_once_and_its_job_runs_later(bench: Bench) -> None:
    gate = threading.Event()
    bench.handler.run_with = lambda context: (gate.wait(10), None)[1]
    first, second = bench.enqueue(), bench.enqueue()
    runner = bench.runner(size=1)
    assert runner.offer("turns", first) is not None
    until(lambda: bench.handler.runs == [first])
    assert runner.offer("turns", second) is None
    gate.set()
    bench.reached(second, JobState.DONE)


def test_a_doubled_offer_runs_the_job_once(bench: Bench) -> None:
    job = bench.enqueue()
    runner = bench.runner()
    tickets = [runner.offer("turns", job) for _ in range(4)]
    assert all(ticket is not None and ticket.wait(10) for ticket in tickets)
    assert bench.handler.runs == [job]


def test_a_failure_is_tried_again_and_counted(bench: Bench) -> None:
    def fail_once(context: JobContext) -> None:
        if context.job.attempt == 0:
            raise Retry("not yet", after=0)

    bench.handler.run_with = fail_once
    job = bench.enqueue()
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.DONE)
    assert bench.handler.runs == [job, job]
    assert bench.job(job).attempt == 1


def test_the_last_attempt_ends_the_job_and_its_handler_records_it(bench: Bench) -> None:
    def fail(context: JobContext) -> None:
        raise Retry("never", after=0)

    bench.handler.run_with = fail
    job = bench.enqueue(max_attempts=3)
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.FAILED)
    assert len(bench.handler.runs) == 3
    assert bench.handler.locked == [job]
    assert bench.handler.ends == [(job, JobState.FAILED, "Retry: never")]
    assert bench.job(job).error == "Retry: never"


def test_a_stored_error_holds_no_secret(bench: Bench) -> None:
    def fail(context: JobContext) -> None:
        raise Retry("the key sk-0123456789abcdefghij was refused", fatal=True)

    bench.handler.run_with = fail
    job = bench.enqueue()
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.FAILED)
    said = "Retry: the key [redacted] was refused"
    assert bench.job(job).error == said
    assert bench.handler.ends == [(job, JobState.FAILED, said)]


@pytest.mark.parametrize(
    "error",
    [Retry("no", fatal=True), ExternalError("refused", retryable=False)],
    ids=["fatal", "not retryable"],
)
def test_what_cannot_be_retried_ends_at_once(bench: Bench, error: Exception) -> None:
    def fail(context: JobContext) -> None:
        raise error

    bench.handler.run_with = fail
    job = bench.enqueue()
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.FAILED)
    assert len(bench.handler.runs) == 1


def test_stopping_gives_the_job_back_without_counting(bench: Bench) -> None:
    def work(context: JobContext) -> None:
        context.interrupt.wait(10)
        context.interrupt.check()

    bench.handler.run_with = work
    job = bench.enqueue()
    runner = bench.runner()
    runner.offer("turns", job)
    until(lambda: bench.handler.runs)
    runner.stop()
    assert runner.wait_idle(10)
    row = bench.job(job)
    assert (row.state, row.attempt, row.crashes) == (JobState.PENDING, 0, 0)
    assert runner.offer("turns", job) is None


def test_a_lost_lease_writes_nothing(bench: Bench) -> None:
    def lose(context: JobContext) -> None:
        bench.sql("UPDATE jobs SET fence = nextval('fence_seq') WHERE id = :i", i=context.job.id)
        with context.database.transaction() as work, pytest.raises(Interrupted) as caught:
            context.guard(work)
        assert caught.value.reason is Reason.LEASE_LOST
        raise caught.value

    bench.handler.run_with = lose
    job = bench.enqueue()
    ticket = bench.runner().offer("turns", job)
    assert ticket is not None
    assert ticket.wait(10)
    assert bench.state(job) is JobState.RUNNING
    assert bench.handler.ends == []


def test_a_failing_record_still_ends_the_row(bench: Bench) -> None:
    def fail(context: JobContext) -> None:
        raise Retry("no", fatal=True)

    def ended(*_: object) -> None:
        raise RuntimeError("the record is broken")

    bench.handler.run_with = fail
    bench.handler.ended = ended  # type: ignore[method-assign, assignment]  # the fault under test
    job = bench.enqueue()
    bench.runner().offer("turns", job)
    bench.reached(job, JobState.FAILED)


def test_a_runner_that_may_not_claim_has_no_room(bench: Bench) -> None:
    """Without its presence lock a process refuses every offer: it must not ask for one either."""
    runner = bench.runner(size=3)
    assert runner.free() == {"turns": 3}
    runner.shut()
    assert runner.free() == {}
    runner.open()
    assert runner.free() == {"turns": 3}
