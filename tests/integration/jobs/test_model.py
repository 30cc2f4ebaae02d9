"""Jobs in any order of events, PostgreSQL against a small model of what may happen."""

from __future__ import annotations

from collections.abc import Iterator
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


class JobsMachine(RuleBasedStateMachine):
    """Claims with whatever fence, old or new: only the newest one of a running job counts."""

    database: Database
    jobs_known = Bundle("jobs_known")
    leases_known = Bundle("leases_known")

    def __init__(self) -> None:
        super().__init__()
        self.database.run(text("TRUNCATE jobs, channel_state, waits CASCADE"))
        self.jobs = Jobs(self.database, MemoryWake(), {})
        self.models: dict[str, Model] = {}
        self.count = 0

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
        with self.database.transaction() as work:
            held = leases.guard_change(work, lease) is not None
            assert held == self.holds(lease)
            if held:
                self.append(work, lease.id)
                leases.progressed(work, lease)
                self.models[lease.id].appends += 1
                self.models[lease.id].crashes = 0

    @rule(lease=leases_known)
    def heartbeat(self, lease: Lease) -> None:
        beats = leases.heartbeat(self.database, [lease])
        assert bool(beats) == self.holds(lease)
        if beats:
            assert beats[0].renewed
            assert beats[0].cancel_requested == self.models[lease.id].cancelled

    @rule(lease=leases_known, state=st.sampled_from([JobState.DONE, JobState.FAILED]))
    def finish(self, lease: Lease, state: JobState) -> None:
        assert leases.finish_alone(self.database, lease, state, {}) == self.holds(lease)
        if self.holds(lease):
            self.models[lease.id].state = state
            self.models[lease.id].open_waits.clear()

    @rule(lease=leases_known)
    def fail(self, lease: Lease) -> None:
        assert leases.retry(self.database, lease, "failed", 0) == self.holds(lease)
        if self.holds(lease):
            self.models[lease.id].state = JobState.PENDING
            self.models[lease.id].attempt += 1

    @rule(lease=leases_known)
    def release(self, lease: Lease) -> None:
        assert leases.release(self.database, lease) == self.holds(lease)
        if self.holds(lease):
            self.models[lease.id].state = JobState.PENDING

    @rule(lease=leases_known)
    def expire(self, lease: Lease) -> None:
        if not self.holds(lease):
            return
        self.database.run(
            text("UPDATE jobs SET lease_until = now() - interval '1 s' WHERE id = :i"), i=lease.id
        )
        with self.database.transaction() as work:
            taken = [one.id for one in sweep.take_over(work)]
        assert taken == [lease.id]
        self.models[lease.id].state = JobState.PENDING
        self.models[lease.id].crashes += 1

    @rule(job=jobs_known)
    def cancel(self, job: str) -> None:
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
        if not self.holds(lease):
            return
        self.count += 1
        wait = f"w{self.count}"
        with self.database.transaction() as work:
            assert leases.guard(work, lease)
            waits.open_wait(work, lease.id, NewWait(wait, "m"))
        self.models[lease.id].open_waits.append(wait)

    @rule(lease=leases_known)
    def park(self, lease: Lease) -> None:
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
        if not model.open_waits:
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
        if not self.holds(lease) or not model.answered:
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
def single(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=1)
    with open_line(pool, "model") as line:
        # The owner is present throughout: only the end of its leases counts.
        assert line.hold_presence(OWNER.lock)
        yield pool
    pool.dispose()


def test_the_rows_do_what_the_model_says(single: Database) -> None:
    class Machine(JobsMachine):
        database = single

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
