"""Jobs in any order of events over several connections, PostgreSQL against a small model.

HABAKKUK_TEST_STEPS runs more of them than fit into every run of the tests, such as 10000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import text

from habakkuk.core.config.environment import read_environment
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.service import Jobs
from habakkuk.jobs.store import lease as leases
from habakkuk.jobs.store import queue, sweep, waits
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.store.line import open_line
from habakkuk.jobs.store.queue import Owner
from habakkuk.jobs.types import JobState, NewJob, NewWait, Queue
from habakkuk.jobs.wake import MemoryWake

ALIVE = {JobState.PENDING, JobState.RUNNING, JobState.WAITING}
OWNER = Owner("model", 1)
CONNECTIONS = 4
MOST_OPEN = 2
STEPS = int(read_environment().get("HABAKKUK_TEST_STEPS") or 1000)
STEPS_PER_EXAMPLE = 40
_APPEND = text(
    "INSERT INTO channel_state (channel, account, name, value) VALUES ('m', :job, :name, '{}')"
)


@dataclass
class Model:
    """What a job should look like."""

    key: str | None
    place: int
    state: JobState = JobState.PENDING
    fence: int | None = None
    attempt: int = 0
    crashes: int = 0
    appends: int = 0
    cancelled: bool = False
    open_waits: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)


@dataclass
class Open:
    """A transaction that proved its lease, appended, and is not committed when the lease ends."""

    lease: Lease
    transaction: AbstractContextManager[Work]


class JobsMachine(RuleBasedStateMachine):
    """Claims with whatever fence, old or new: only the newest one of a running job counts.

    Every statement goes over another connection than the one before, and up to two transactions
    stay open meanwhile: what they hold is neither taken over nor renewed, and nobody waits for it.
    """

    connections: Sequence[Database]
    jobs_known = Bundle("jobs_known")
    leases_known = Bundle("leases_known")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[Open] = []
        self.turn = 0
        self.models: dict[str, Model] = {}
        self.count = 0
        self.database.run(text("TRUNCATE jobs, channel_state, waits CASCADE"))

    def teardown(self) -> None:
        while self.open:
            self.open.pop().transaction.__exit__(None, None, None)

    @property
    def database(self) -> Database:
        self.turn += 1
        return self.connections[self.turn % len(self.connections)]

    @property
    def jobs(self) -> Jobs:
        return Jobs(self.database, MemoryWake(), {})

    def locked(self, job: str) -> bool:
        """Whether an open transaction holds the job's row: a change of it would wait."""
        return any(one.lease.id == job for one in self.open)

    def claimable(self, job: str) -> bool:
        model = self.models[job]
        if model.state is not JobState.PENDING or model.crashes >= 2:
            return False
        others = [o for o in self.models.values() if o.key == model.key and o is not model]
        return model.key is None or not any(
            other.state in ALIVE
            and (other.state is not JobState.PENDING or other.place < model.place)
            for other in others
        )

    def holds(self, lease: Lease) -> bool:
        model = self.models[lease.id]
        return model.state is JobState.RUNNING and model.fence == lease.fence

    def append(self, work: Work, job: str) -> None:
        self.count += 1
        work.execute(_APPEND, job=job, name=str(self.count))

    @rule(target=jobs_known, key=st.sampled_from([None, "a", "b"]))
    def enqueue(self, key: str | None) -> str:
        self.count += 1
        job = f"j{self.count}"
        with self.database.transaction() as work:
            assert self.jobs.enqueue(work, NewJob(job, "m", Queue.TURNS, serial_key=key))
        self.models[job] = Model(key, self.count)
        return job

    @rule(target=leases_known, job=jobs_known)
    def claim_one(self, job: str) -> Lease:
        claimed = queue.claim_one(self.database, job, OWNER)
        assert (claimed is not None) == self.claimable(job)
        if claimed is None:
            return Lease(job, 0)
        return self.claimed(claimed.id, claimed.fence)

    @rule(target=leases_known)
    def claim_next(self) -> Lease:
        expected = [job for job in self.models if self.claimable(job)]
        claimed = queue.claim_next(self.database, "turns", OWNER)
        assert (claimed is not None) == bool(expected)
        if claimed is None:
            return self.nothing()
        assert claimed.id in expected
        return self.claimed(claimed.id, claimed.fence)

    def nothing(self) -> Lease:
        self.models.setdefault("none", Model(None, 0, JobState.DONE))
        return Lease("none", 0)

    def claimed(self, job: str, fence: int | None) -> Lease:
        model = self.models[job]
        assert fence is not None
        assert fence > max((m.fence or 0) for m in self.models.values())
        model.state, model.fence = JobState.RUNNING, fence
        return Lease(job, fence)

    @rule(lease=leases_known)
    def guarded_append(self, lease: Lease) -> None:
        if self.locked(lease.id):
            return
        with self.database.transaction() as work:
            held = leases.guard_change(work, lease) is not None
            assert held == self.holds(lease)
            if held:
                self.append(work, lease.id)
                leases.progressed(work, lease)
                self.models[lease.id].appends += 1
                self.models[lease.id].crashes = 0

    @rule(lease=leases_known)
    def begin_append(self, lease: Lease) -> None:
        if self.locked(lease.id) or len(self.open) == MOST_OPEN or not self.holds(lease):
            return
        self.end_lease(lease)
        transaction = self.database.transaction()
        work = transaction.__enter__()
        assert leases.guard(work, lease)
        self.append(work, lease.id)
        self.open.append(Open(lease, transaction))

    @rule(commits=st.booleans())
    def end_append(self, commits: bool) -> None:
        if not self.open:
            return
        ended = self.open.pop(0)
        if commits:
            ended.transaction.__exit__(None, None, None)
            self.models[ended.lease.id].appends += 1
        else:
            undone = RuntimeError("undone")
            assert not ended.transaction.__exit__(RuntimeError, undone, None)
        assert leases.heartbeat(self.database, [ended.lease])[0].renewed

    @rule(lease=leases_known)
    def heartbeat(self, lease: Lease) -> None:
        beats = leases.heartbeat(self.database, [lease])
        assert bool(beats) == self.holds(lease)
        if beats:
            assert beats[0].renewed is not self.locked(lease.id)
            assert beats[0].cancel_requested == self.models[lease.id].cancelled

    @rule(lease=leases_known, state=st.sampled_from([JobState.DONE, JobState.FAILED]))
    def finish(self, lease: Lease, state: JobState) -> None:
        if self.locked(lease.id):
            return
        assert leases.finish_alone(self.database, lease, state, {}) == self.holds(lease)
        if self.holds(lease):
            self.models[lease.id].state = state
            self.models[lease.id].open_waits.clear()

    @rule(lease=leases_known)
    def fail(self, lease: Lease) -> None:
        if self.locked(lease.id):
            return
        assert leases.retry(self.database, lease, "failed", 0) == self.holds(lease)
        if self.holds(lease):
            self.models[lease.id].state = JobState.PENDING
            self.models[lease.id].attempt += 1

    @rule(lease=leases_known)
    def release(self, lease: Lease) -> None:
        if self.locked(lease.id):
            return
        assert leases.release(self.database, lease) == self.holds(lease)
        if self.holds(lease):
            self.models[lease.id].state = JobState.PENDING

    @rule(lease=leases_known)
    def expire(self, lease: Lease) -> None:
        if not self.holds(lease) or self.locked(lease.id):
            return
        self.end_lease(lease)
        # The sweep asks this first: what it leaves out is never mended.
        assert sweep.finds_something(self.database)
        with self.database.transaction() as work:
            taken = [one.id for one in sweep.take_over(work)]
        assert taken == [lease.id]
        self.models[lease.id].state = JobState.PENDING
        self.models[lease.id].crashes += 1

    def end_lease(self, lease: Lease) -> None:
        self.database.run(
            text("UPDATE jobs SET lease_until = now() - interval '1 s' WHERE id = :i"), i=lease.id
        )

    @rule()
    def sweep_beside_open_transactions(self) -> None:
        """A lease that ended while its holder commits: the guard holds the takeover off."""
        with self.database.transaction() as work:
            assert sweep.take_over(work) == []

    @rule(job=jobs_known)
    def cancel(self, job: str) -> None:
        if self.locked(job):
            return
        model = self.models[job]
        with self.database.transaction() as work:
            result = self.jobs.cancel(work, job, "stop")
        if model.state is JobState.RUNNING:
            assert result is JobState.RUNNING
            model.cancelled = True
        elif model.state in ALIVE:
            assert result is JobState.CANCELLED
            model.state, model.cancelled = JobState.CANCELLED, True
            model.open_waits.clear()
        else:
            assert result is None

    @rule(lease=leases_known)
    def open_wait(self, lease: Lease) -> None:
        if not self.holds(lease) or self.locked(lease.id):
            return
        self.count += 1
        wait = f"w{self.count}"
        with self.database.transaction() as work:
            assert leases.guard(work, lease)
            waits.open_wait(work, lease.id, NewWait(wait, "m"))
        self.models[lease.id].open_waits.append(wait)

    @rule(lease=leases_known)
    def park(self, lease: Lease) -> None:
        if self.locked(lease.id):
            return
        model = self.models[lease.id]
        with self.database.transaction() as work:
            parked = waits.park(work, lease)
        if not self.holds(lease):
            assert parked is None
            return
        assert parked == (bool(model.open_waits) and not model.answered)
        if parked:
            model.state = JobState.WAITING

    @rule(job=jobs_known)
    def resolve(self, job: str) -> None:
        model = self.models[job]
        if not model.open_waits or self.locked(job):
            return
        wait = model.open_waits.pop()
        with self.database.transaction() as work:
            assert self.jobs.resolve(work, wait, "approved")
        model.answered.append(wait)
        if model.state is JobState.WAITING:
            model.state = JobState.PENDING

    @rule(lease=leases_known)
    def consume(self, lease: Lease) -> None:
        model = self.models[lease.id]
        if not self.holds(lease) or not model.answered or self.locked(lease.id):
            return
        with self.database.transaction() as work:
            assert leases.guard(work, lease)
            waits.consume(work, lease.id, model.answered.pop())

    @invariant()
    def rows_are_as_modelled(self) -> None:
        rows = self.database.run(
            text(
                "SELECT j.*, (SELECT count(*) FROM channel_state c WHERE c.account = j.id) AS n"
                " FROM jobs j"
            )
        )
        assert len(rows) == len([job for job in self.models if job != "none"])
        for row in rows:
            model = self.models[row.id]
            found = (JobState(row.state), row.attempt, row.crashes, row.cancel_requested, row.n)
            assert found == (
                model.state,
                model.attempt,
                model.crashes,
                model.cancelled,
                model.appends,
            )
            assert (row.lease_until is not None) == (model.state is JobState.RUNNING)
            assert (row.finished is not None) == (model.state not in ALIVE)

    @invariant()
    def one_runs_a_key(self) -> None:
        rows = self.database.run(
            text(
                "SELECT serial_key FROM jobs WHERE state IN ('running', 'waiting')"
                " AND serial_key IS NOT NULL GROUP BY serial_key HAVING count(*) > 1"
            )
        )
        assert rows == []


@pytest.fixture
def several(database_url: str) -> Iterator[Sequence[Database]]:
    # A transaction of the test may stay open for as long as the test takes to get back to it.
    pools = [Database(database_url, pool_size=3, idle_seconds=600) for _ in range(CONNECTIONS)]
    with open_line(pools[0], "model") as line:
        # The owner is present throughout: only the end of its leases counts.
        assert line.hold_presence(OWNER.lock)
        yield pools
    for pool in pools:
        pool.dispose()


@pytest.mark.timeout(120 + STEPS // 5)
def test_the_rows_do_what_the_model_says(several: Sequence[Database]) -> None:
    class Machine(JobsMachine):
        connections = several

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=max(1, STEPS // STEPS_PER_EXAMPLE),
            stateful_step_count=STEPS_PER_EXAMPLE,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
