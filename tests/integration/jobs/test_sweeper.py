"""What the sweep finds: dead owners by presence and by lease, due jobs, poison."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from habakkuk.core.failpoints import Failpoints
from habakkuk.core.redis import RedisGate
from habakkuk.db.engine import DatabaseAway, DatabaseBusy, Work
from habakkuk.jobs.lock import Holder, LockKeeper, lock_key
from habakkuk.jobs.presence import host_number
from habakkuk.jobs.runner import Runner
from habakkuk.jobs.store import sweep as store
from habakkuk.jobs.store.line import Line, open_line
from habakkuk.jobs.sweeper import Sweeper, SweeperParts
from habakkuk.jobs.types import Job, JobState
from tests.integration.jobs.bench import Bench, until


class Sweep:
    """A sweeper that sweeps when the test says so, and presence lines to hold and drop."""

    def __init__(self, bench: Bench, lines: ExitStack) -> None:
        self.bench = bench
        self.lines = lines
        self.probes: list[None] = []

    def presence(self, number: int) -> Line:
        line = self.lines.enter_context(open_line(self.bench.database, "test presence"))
        assert line.hold_presence(number)
        return line

    def sweeper(self, runner: Runner | None = None, locks: LockKeeper | None = None) -> Sweeper:
        return Sweeper(
            SweeperParts(
                self.bench.database,
                runner or Runner(self.bench.parts(), {}),
                {"test": self.bench.handler},
                self.bench.wake,
                Failpoints(),
                locks,
                lambda: self.probes.append(None),
            )
        )


@pytest.fixture
def sweep(bench: Bench) -> Iterator[Sweep]:
    # The rule on presence rests for ten seconds after the server's start.
    until(
        lambda: bench.sql(
            "SELECT 1 WHERE clock_timestamp() - pg_postmaster_start_time() > interval '10 s'"
        )
    )
    with ExitStack() as lines:
        yield Sweep(bench, lines)


def test_a_job_whose_owner_is_gone_is_put_back_and_woken(bench: Bench, sweep: Sweep) -> None:
    lease = bench.claimed(lock=11)
    bench.wake.woken.clear()
    sweep.sweeper().mend()
    row = bench.job(lease.id)
    assert (row.state, row.crashes, row.attempt) == (JobState.PENDING, 1, 0)
    assert bench.wake.woken == [("turns", lease.id)]


def test_a_job_whose_owner_is_present_is_left_alone(bench: Bench, sweep: Sweep) -> None:
    sweep.presence(11)
    lease = bench.claimed(lock=11)
    sweep.sweeper().mend()
    assert bench.state(lease.id) is JobState.RUNNING


def test_an_owner_of_another_database_is_no_presence_here(
    bench: Bench, sweep: Sweep, fresh_database_url: str
) -> None:
    from habakkuk.db.engine import Database

    elsewhere = Database(fresh_database_url)
    with open_line(elsewhere, "test presence") as line:
        assert line.hold_presence(11)
        lease = bench.claimed(lock=11)
        sweep.sweeper().mend()
        assert bench.state(lease.id) is JobState.PENDING
    elsewhere.dispose()


def test_a_lease_that_is_over_is_taken_even_from_a_present_owner(
    bench: Bench, sweep: Sweep
) -> None:
    sweep.presence(11)
    lease = bench.claimed(lock=11)
    bench.sql("UPDATE jobs SET lease_until = now() - interval '1 s'")
    sweep.sweeper().mend()
    assert bench.job(lease.id).crashes == 1
    assert bench.state(lease.id) is JobState.PENDING


def test_while_another_process_sweeps_nothing_is_mended(bench: Bench, sweep: Sweep) -> None:
    lease = bench.claimed(lock=11)
    with bench.database.transaction() as work:
        assert store.alone(work)
        sweep.sweeper().mend()
        assert bench.state(lease.id) is JobState.RUNNING
    sweep.sweeper().mend()
    assert bench.state(lease.id) is JobState.PENDING


def test_a_due_job_that_nobody_woke_is_run(bench: Bench, sweep: Sweep) -> None:
    job = bench.enqueue()
    sweep.sweeper(bench.runner()).offer_due()
    bench.reached(job, JobState.DONE)


def test_blocked_and_delayed_jobs_are_not_offered(bench: Bench, sweep: Sweep) -> None:
    head, behind = bench.enqueue(serial_key="k"), bench.enqueue(serial_key="k")
    bench.enqueue(delay=60.0)
    due = store.due(bench.database, ["turns", "deliveries"], 10)
    assert [one.id for one in due] == [head]
    assert behind not in [one.id for one in due]


def die_in_the_probe(bench: Bench, **fields: Any) -> str:
    lease = bench.claimed(lock=11, **fields)
    bench.sql("UPDATE jobs SET crashes = 2 WHERE id = :i", i=lease.id)
    return lease.id


def test_a_job_that_died_in_the_probe_is_set_aside_with_its_reason(
    bench: Bench, sweep: Sweep
) -> None:
    job = die_in_the_probe(bench)
    sweep.sweeper().mend()
    row = bench.job(job)
    reason = "it killed its worker 3 times and was set aside"
    assert (row.state, row.crashes, row.error) == (JobState.FAILED, 3, reason)
    assert bench.handler.locked == [job]
    assert bench.handler.ends == [(job, JobState.FAILED, reason)]


def test_a_job_in_a_living_probe_is_left_alone(bench: Bench, sweep: Sweep) -> None:
    sweep.presence(11)
    job = die_in_the_probe(bench)
    sweep.sweeper().mend()
    assert bench.state(job) is JobState.RUNNING


def test_a_frozen_probe_loses_its_job_but_does_not_condemn_it(bench: Bench, sweep: Sweep) -> None:
    sweep.presence(11)
    job = die_in_the_probe(bench)
    bench.sql("UPDATE jobs SET lease_until = now() - interval '1 s'")
    sweep.sweeper().mend()
    assert bench.state(job) is JobState.PENDING


def test_a_record_that_fails_does_not_keep_poison_alive(bench: Bench, sweep: Sweep) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the record is broken")

    bench.handler.ended = broken  # type: ignore[method-assign, assignment]  # the fault
    job = die_in_the_probe(bench)
    sweep.sweeper().mend()
    assert bench.state(job) is JobState.FAILED


def test_a_record_that_a_lock_kept_out_is_written_by_the_next_sweep(
    bench: Bench, sweep: Sweep
) -> None:
    tries: list[str] = []

    def locked_once(work: Work, job: Job) -> None:
        tries.append(job.id)
        if len(tries) == 1:
            raise DatabaseBusy("a lock was held too long")

    bench.handler.lock = locked_once  # type: ignore[method-assign]  # the fault
    job = die_in_the_probe(bench)
    with pytest.raises(DatabaseBusy):
        sweep.sweeper().mend()
    sweep.sweeper().mend()
    assert [end[:2] for end in bench.handler.ends] == [(job, JobState.FAILED)]


def test_poison_starts_the_probe_and_is_not_offered(bench: Bench, sweep: Sweep) -> None:
    job = bench.enqueue()
    bench.sql("UPDATE jobs SET crashes = 2 WHERE id = :i", i=job)
    sweeper = sweep.sweeper(bench.runner())
    for _ in range(4):
        sweeper.sweep()
    assert sweep.probes
    assert bench.handler.runs == []


def test_a_takeover_that_makes_poison_starts_the_probe_at_once(bench: Bench, sweep: Sweep) -> None:
    lease = bench.claimed(lock=11)
    bench.sql("UPDATE jobs SET crashes = 1 WHERE id = :i", i=lease.id)
    bench.wake.woken.clear()
    sweep.sweeper(bench.runner()).mend()
    assert sweep.probes
    assert (bench.wake.woken, bench.handler.runs) == ([], [])


def test_without_poison_there_is_no_probe(bench: Bench, sweep: Sweep) -> None:
    bench.enqueue()
    sweeper = sweep.sweeper(bench.runner())
    for _ in range(4):
        sweeper.sweep()
    assert sweep.probes == []


@pytest.fixture
def locks(redis_url: str) -> Iterator[LockKeeper]:
    keeper = LockKeeper(RedisGate(redis_url), 5)
    keeper.start()
    yield keeper
    keeper.stop()


def show(redis_url: str, key: str, holder: Holder) -> None:
    RedisGate(redis_url).call(lambda client: client.set(lock_key(key), holder.value))


def test_a_takeover_deletes_the_dead_owners_lock(
    bench: Bench, sweep: Sweep, locks: LockKeeper, redis_url: str
) -> None:
    lease = bench.claimed(lock=11, serial_key="k")
    show(redis_url, "k", Holder(lease.fence, 11))
    sweep.sweeper(locks=locks).mend()
    until(lambda: locks.holders(["k"]) == {})


def test_a_key_that_was_claimed_meanwhile_is_not_offered(
    bench: Bench, sweep: Sweep, locks: LockKeeper, redis_url: str
) -> None:
    bench.enqueue(serial_key="k")
    (fence,) = bench.sql("SELECT nextval('fence_seq') AS n")
    show(redis_url, "k", Holder(fence.n + 1, 11))
    runner = bench.runner()
    sweep.sweeper(runner, locks).offer_due()
    bench.settled(runner)
    assert bench.handler.runs == []


def test_a_stale_lock_blocks_nothing(
    bench: Bench, sweep: Sweep, locks: LockKeeper, redis_url: str
) -> None:
    (fence,) = bench.sql("SELECT nextval('fence_seq') AS n")
    show(redis_url, "k", Holder(fence.n, 11))
    job = bench.enqueue(serial_key="k")
    sweep.sweeper(bench.runner(), locks).offer_due()
    bench.reached(job, JobState.DONE)


def test_a_missing_redis_blocks_nothing(bench: Bench, sweep: Sweep) -> None:
    away = LockKeeper(RedisGate("redis://127.0.0.1:1/0"), 5)
    job = bench.enqueue(serial_key="k")
    sweep.sweeper(bench.runner(), away).offer_due()
    bench.reached(job, JobState.DONE)


def test_while_the_probe_of_this_host_runs_no_other_is_started(bench: Bench, sweep: Sweep) -> None:
    job = bench.enqueue()
    bench.sql("UPDATE jobs SET crashes = 2 WHERE id = :i", i=job)
    line = sweep.lines.enter_context(open_line(bench.database, "test probe"))
    assert line.hold_probe(host_number())
    sweeper = sweep.sweeper(bench.runner())
    for _ in range(4):
        sweeper.sweep()
    assert sweep.probes == []


def test_a_process_that_is_frozen_inside_its_sweep_soon_keeps_nobody_from_theirs(
    bench: Bench,
) -> None:
    """The server ends its transaction, and with it the lock."""
    frozen = bench.database.beside("frozen", idle_seconds=0.2)

    def alone() -> bool:
        with bench.database.transaction() as work:
            return store.alone(work)

    def freeze() -> None:
        with frozen.transaction() as work:
            assert store.alone(work)
            assert not alone()
            until(alone)

    with pytest.raises(DatabaseAway):
        freeze()
    frozen.dispose()
