"""What a fence proves, and what a heartbeat finds."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from habakkuk.core.clock import Clock
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.db.engine import Work
from habakkuk.jobs.context import RunningJob, Surroundings
from habakkuk.jobs.heartbeat import Heartbeat
from habakkuk.jobs.leases import Leases
from habakkuk.jobs.store import lease as store
from habakkuk.jobs.store import sweep
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.store.line import open_line
from habakkuk.jobs.types import JobState
from tests.integration.jobs.bench import Bench, until


@pytest.fixture(autouse=True)
def present(bench: Bench) -> Iterator[None]:
    """The owner of the claims is there: only the end of a lease is a reason to take over."""
    with open_line(bench.database, "test presence") as line:
        assert line.hold_presence(1)
        yield


def context_of(bench: Bench, lease: Lease) -> RunningJob:
    shared = Surroundings(bench.database, Failpoints())
    return RunningJob(bench.job(lease.id), lease, shared, lambda lease: None)


def expire(bench: Bench, lease: Lease) -> None:
    bench.sql("UPDATE jobs SET lease_until = now() - interval '1 s' WHERE id = :i", i=lease.id)


def take_over(bench: Bench) -> list[str]:
    with bench.database.transaction() as work:
        return [taken.id for taken in sweep.take_over(work)]


def append(bench: Bench, work: Work, lease: Lease) -> None:
    context_of(bench, lease).guard(work)
    work.execute(bench.append, job=lease.id)


def appends(bench: Bench) -> int:
    (row,) = bench.sql("SELECT count(*) AS n FROM channel_state")
    return int(row.n)


def test_a_guard_after_a_takeover_refuses_to_write(bench: Bench) -> None:
    lease = bench.claimed()
    expire(bench, lease)
    assert take_over(bench) == [lease.id]
    with pytest.raises(Interrupted) as caught, bench.database.transaction() as work:
        append(bench, work, lease)
    assert caught.value.reason is Reason.LEASE_LOST
    assert appends(bench) == 0


def test_without_the_guard_the_same_append_is_written(bench: Bench) -> None:
    lease = bench.claimed()
    expire(bench, lease)
    take_over(bench)
    with bench.database.transaction() as work:
        work.execute(bench.append, job=lease.id)
    assert appends(bench) == 1


@pytest.mark.parametrize("guard", ["guard", "guard_change"])
def test_a_takeover_leaves_a_row_that_is_guarded_just_now(bench: Bench, guard: str) -> None:
    lease = bench.claimed()
    expire(bench, lease)
    with bench.database.transaction() as work:
        getattr(context_of(bench, lease), guard)(work)
        assert take_over(bench) == []
    assert take_over(bench) == [lease.id]


def test_guards_of_parallel_calls_do_not_wait_for_each_other(bench: Bench) -> None:
    context = context_of(bench, bench.claimed())
    with bench.database.transaction() as one, bench.database.transaction() as two:
        context.guard(one)
        context.guard(two)


def test_parallel_changes_of_the_job_row_do_not_deadlock(bench: Bench) -> None:
    context = context_of(bench, bench.claimed())
    done: list[int] = []

    def change(number: int) -> None:
        for _ in range(20):
            with bench.database.transaction() as work:
                context.guard_change(work)
                work.execute(bench.touch, job=context.job.id)
        done.append(number)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1, 2, 3]


def test_progress_forgets_the_crashes(bench: Bench) -> None:
    lease = bench.claimed()
    bench.sql("UPDATE jobs SET crashes = 1 WHERE id = :i", i=lease.id)
    context = context_of(bench, lease)
    with bench.database.transaction() as work:
        context.guard_change(work)
        context.progressed(work)
    assert bench.job(lease.id).crashes == 0


def test_finishing_with_an_old_fence_changes_nothing(bench: Bench) -> None:
    lease = bench.claimed()
    old = Lease(lease.id, lease.fence - 1)
    with pytest.raises(Interrupted) as caught, bench.database.transaction() as work:
        context_of(bench, old).finish(work, JobState.DONE)
    assert caught.value.reason is Reason.LEASE_LOST
    assert bench.state(lease.id) is JobState.RUNNING


def test_a_finish_that_is_rolled_back_leaves_the_job_running(bench: Bench) -> None:
    lease = bench.claimed()
    context = context_of(bench, lease)

    def finish_and_fail() -> None:
        with bench.database.transaction() as work:
            context.finish(work, JobState.DONE)
            raise RuntimeError("rolled back")

    with pytest.raises(RuntimeError):
        finish_and_fail()
    assert not context.over
    assert bench.state(lease.id) is JobState.RUNNING


def test_a_finish_stores_its_result(bench: Bench) -> None:
    lease = bench.claimed()
    with bench.database.transaction() as work:
        context_of(bench, lease).finish(work, JobState.DONE, result={"answer": "é"})
    (row,) = bench.sql("SELECT result, owner, lease_until FROM jobs WHERE id = :i", i=lease.id)
    assert (row.result, row.owner, row.lease_until) == ({"answer": "é"}, None, None)


def test_the_back_off_is_at_most_double_each_time_and_five_minutes_in_all(bench: Bench) -> None:
    for attempt, most in ((0, 2), (1, 4), (4, 32), (9, 300), (40, 300)):
        lease = bench.claimed()
        bench.sql("UPDATE jobs SET attempt = :a WHERE id = :i", a=attempt, i=lease.id)
        assert store.retry(bench.database, lease, "failed", None)
        (row,) = bench.sql(
            "SELECT attempt, extract(epoch FROM run_at - clock_timestamp()) AS pause"
            " FROM jobs WHERE id = :i",
            i=lease.id,
        )
        assert row.attempt == attempt + 1
        assert -1 < row.pause <= most


def test_who_names_a_short_wait_again_and_again_does_not_use_up_all_tries(bench: Bench) -> None:
    """A proxy says so for as long as what it stands for is away; a day of tries must last one."""
    pauses = {5: 0.0, 300: 0.0}
    for attempt in pauses:
        for _ in range(20):
            lease = bench.claimed()
            bench.sql("UPDATE jobs SET attempt = :a WHERE id = :i", a=attempt, i=lease.id)
            assert store.retry(bench.database, lease, "failed", None, asked=1.0)
            pauses[attempt] += pause_of(bench, lease)
    assert 15 < pauses[5] <= 20
    # On average half of five minutes.
    assert pauses[300] > 20 * 60


def test_a_long_wait_that_is_asked_for_is_kept_however_often(bench: Bench) -> None:
    lease = bench.claimed()
    bench.sql("UPDATE jobs SET attempt = 20 WHERE id = :i", i=lease.id)
    assert store.retry(bench.database, lease, "failed", None, asked=900.0)
    assert 890 < pause_of(bench, lease) <= 900


def pause_of(bench: Bench, lease: Lease) -> float:
    (row,) = bench.sql(
        "SELECT extract(epoch FROM run_at - clock_timestamp()) AS pause FROM jobs WHERE id = :i",
        i=lease.id,
    )
    return float(row.pause)


class Beats:
    """A heartbeat with a clock that the test moves."""

    def __init__(self, bench: Bench, seconds: float = 30.0) -> None:
        self.time = 0.0
        clock = Clock()
        clock.monotonic = lambda: self.time  # type: ignore[method-assign]  # the test's clock
        self.leases = Leases(clock, seconds)
        self.heartbeat = Heartbeat(bench.database, self.leases, clock)

    def hold(self, lease: Lease) -> Interrupt:
        interrupt = Interrupt()
        self.leases.add(lease, None, interrupt, self.time)
        return interrupt


def lease_seconds(bench: Bench, lease: Lease) -> float:
    (row,) = bench.sql(
        "SELECT extract(epoch FROM lease_until - clock_timestamp()) AS s FROM jobs WHERE id = :i",
        i=lease.id,
    )
    return float(row.s)


def test_a_beat_renews_every_lease_for_thirty_seconds(bench: Bench) -> None:
    beats = Beats(bench)
    held = [bench.claimed() for _ in range(3)]
    for lease in held:
        beats.hold(lease)
        expire(bench, lease)
    beats.heartbeat.beat()
    assert all(29 < lease_seconds(bench, lease) <= 30 for lease in held)


def test_a_shorter_lease_is_renewed_and_trusted_for_less(bench: Bench) -> None:
    """Drills set it, so that a frozen worker's end of trust need not be waited for."""
    beats = Beats(bench, seconds=3.0)
    lease = bench.claimed()
    interrupt = beats.hold(lease)
    beats.heartbeat.beat()
    assert 2 < lease_seconds(bench, lease) <= 3
    beats.time = 2.4
    assert beats.leases.distrust() == []
    beats.time = 2.6
    assert beats.leases.distrust() == [lease.fence]
    assert interrupt.reason is Reason.LEASE_LOST


def test_a_beat_tells_a_job_whose_row_another_has(bench: Bench) -> None:
    beats = Beats(bench)
    mine, taken = bench.claimed(), bench.claimed()
    kept, lost = beats.hold(mine), beats.hold(taken)
    expire(bench, taken)
    take_over(bench)
    beats.heartbeat.beat()
    assert lost.reason is Reason.LEASE_LOST
    assert kept.reason is None


def test_a_beat_brings_a_cancellation_that_the_notification_lost(bench: Bench) -> None:
    beats = Beats(bench)
    lease = bench.claimed()
    interrupt = beats.hold(lease)
    with bench.database.transaction() as work:
        bench.jobs.cancel(work, lease.id, "stop")
    beats.heartbeat.beat()
    assert interrupt.reason is Reason.CANCELLED


def test_a_locked_row_is_neither_waited_for_nor_lost(bench: Bench) -> None:
    beats = Beats(bench)
    lease = bench.claimed()
    interrupt = beats.hold(lease)
    with bench.database.transaction() as work:
        context_of(bench, lease).guard_change(work)
        beats.heartbeat.beat()
    assert interrupt.reason is None


def test_trust_ends_five_seconds_before_the_lease_without_a_renewal(bench: Bench) -> None:
    beats = Beats(bench)
    interrupt = beats.hold(bench.claimed())
    beats.time = 24.9
    assert beats.leases.distrust() == []
    beats.time = 25.1
    beats.leases.distrust()
    assert interrupt.reason is Reason.LEASE_LOST


def test_a_renewal_moves_the_end_of_trust(bench: Bench) -> None:
    beats = Beats(bench)
    interrupt = beats.hold(bench.claimed())
    beats.time = 20.0
    beats.heartbeat.beat()
    beats.time = 44.9
    beats.leases.distrust()
    assert interrupt.reason is None
    beats.time = 45.1
    beats.leases.distrust()
    assert interrupt.reason is Reason.LEASE_LOST


def test_a_row_that_could_not_be_renewed_gains_no_trust(bench: Bench) -> None:
    beats = Beats(bench)
    lease = bench.claimed()
    interrupt = beats.hold(lease)
    beats.time = 20.0
    with bench.database.transaction() as work:
        context_of(bench, lease).guard_change(work)
        beats.heartbeat.beat()
    beats.time = 25.1
    beats.leases.distrust()
    assert interrupt.reason is Reason.LEASE_LOST


def test_the_thread_beats_by_itself(bench: Bench) -> None:
    beats = Beats(bench)
    lease = bench.claimed()
    beats.hold(lease)
    expire(bench, lease)
    beats.heartbeat.start()
    until(lambda: lease_seconds(bench, lease) > 29)
    beats.heartbeat.stop()
