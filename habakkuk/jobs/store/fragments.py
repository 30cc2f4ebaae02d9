"""Pieces that several statements share, and the way from rows to plain data."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import TextClause, text

from habakkuk.db.statements import Row
from habakkuk.jobs.types import Job, JobState, Wait

LEASE_SECONDS = 30.0
# Ordinary claims leave jobs that killed this many workers to the probe.
POISON_CRASHES = 2
# After a start of PostgreSQL every presence lock is gone: give the workers time to take theirs.
_REST_SECONDS = 10

_COLUMNS = (
    "j.id, j.seq, j.kind, j.queue, j.serial_key, j.payload, j.state, j.attempt, j.crashes,"
    " j.max_attempts, j.cancel_requested, j.fence, j.owner, j.error, j.run_at, j.created,"
    " j.finished"
)
# A waiting or running job of the key blocks whatever its place is; others block by their place.
_HEAD = (
    "(j.serial_key IS NULL OR NOT EXISTS (SELECT 1 FROM jobs o WHERE o.serial_key = j.serial_key"
    " AND o.state IN ('pending', 'running', 'waiting') AND o.id <> j.id"
    " AND (o.state <> 'pending' OR o.seq < j.seq)))"
)
_PRESENT = (
    "SELECT l.objid AS lock FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted"
    " AND l.classid = 7777 AND l.objsubid = 2"
    " AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())"
)
_RESTED = f"clock_timestamp() - pg_postmaster_start_time() > interval '{_REST_SECONDS} s'"
_FRESH_LEASE = (
    "state = 'running', fence = nextval('fence_seq'), owner = :owner, owner_lock = :owner_lock,"
    " lease_until = clock_timestamp() + :lease * interval '1 s'"
)
_NO_LEASE = "owner = NULL, owner_lock = NULL, lease_until = NULL"
# For jobs that are named: the small index of all pending ones looks cheap to the planner, which
# counts neither the dead entries that every claim leaves there nor how many there will be.
_PENDING = "j.state || '' = 'pending'"
_WAITING = "j.state || '' = 'waiting'"
# For how long nobody ran a job: a wait that is over and used up. Moments are none.
_ABSENCE = "id, job_id, kind, created, resolved_at, outcome, consumed_at"
_ABSENT = "interval '60 s'"
_HELD = "j.id = :id AND j.fence = :fence AND j.state = 'running'"
_DONE_NOTICE = (
    "pg_notify('hab_done', json_build_object("
    "'job', e.id, 'key', e.serial_key, 'state', e.state)::text)"
)
_FRAGMENTS = {
    "$columns": _COLUMNS,
    "$head": _HEAD,
    "$present": _PRESENT,
    "$rested": _RESTED,
    "$fresh_lease": _FRESH_LEASE,
    "$no_lease": _NO_LEASE,
    "$held": _HELD,
    "$absence": _ABSENCE,
    "$absent": _ABSENT,
    "$pending": _PENDING,
    "$waiting": _WAITING,
    "$done_notice": _DONE_NOTICE,
    "$poison": str(POISON_CRASHES),
}


def statement(sql: str) -> TextClause:
    """Return the prepared text of a statement with the shared pieces put in."""
    for name, fragment in _FRAGMENTS.items():
        sql = sql.replace(name, fragment.replace("::", "\\:\\:"))
    return text(sql)


def as_json(value: Any) -> str | None:
    """Return a JSON parameter for CAST(:p AS jsonb); None stays NULL."""
    return None if value is None else orjson.dumps(value).decode()


def job_of(row: Row) -> Job:
    """Return the job of a row that has $columns first."""
    return Job(
        id=row.id,
        seq=row.seq,
        kind=row.kind,
        queue=row.queue,
        serial_key=row.serial_key,
        payload=row.payload,
        state=JobState(row.state),
        attempt=row.attempt,
        crashes=row.crashes,
        max_attempts=row.max_attempts,
        cancel_requested=row.cancel_requested,
        fence=row.fence,
        owner=row.owner,
        error=row.error,
        run_at=row.run_at,
        created=row.created,
        finished=row.finished,
    )


def wait_of(row: Row) -> Wait:
    """Return the wait of a row of `waits`."""
    return Wait(
        id=row.id,
        job_id=row.job_id,
        kind=row.kind,
        payload=row.payload,
        outcome=row.outcome,
        answer=row.answer,
        consumed=row.consumed_at is not None,
        expires_at=row.expires_at,
    )
