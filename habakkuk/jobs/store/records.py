"""Jobs as people look at them: show, list, count, cancel, try again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from habakkuk.db.engine import Database, Work
from habakkuk.jobs.store.fragments import job_of, statement
from habakkuk.jobs.types import Job, JobState

_GET = statement("SELECT $columns FROM jobs j WHERE j.id = :id")
_LOCK = statement("SELECT $columns FROM jobs j WHERE j.id = :id FOR NO KEY UPDATE OF j")
_REQUEST_CANCEL = statement(
    "WITH c AS (UPDATE jobs SET cancel_requested = true, error = :reason"
    " WHERE id = :id RETURNING id) SELECT pg_notify('hab_cancel', c.id) FROM c"
)
_CANCEL = statement(
    "WITH e AS (UPDATE jobs SET state = 'cancelled', cancel_requested = true, error = :reason,"
    " finished = clock_timestamp() WHERE id = :id RETURNING id, serial_key, state),"
    " w AS (UPDATE waits SET resolved_at = clock_timestamp(), outcome = 'cancelled'"
    " WHERE job_id = :id AND resolved_at IS NULL)"
    " SELECT $done_notice FROM e"
)
# A new place in its key's order: the jobs that ran since must not be overtaken half-way.
_AGAIN = statement(
    "UPDATE jobs SET state = 'pending', attempt = 0, crashes = 0, error = NULL, result = NULL,"
    " cancel_requested = false, finished = NULL, run_at = clock_timestamp(), seq = DEFAULT"
    " WHERE id = :id AND state = 'failed' RETURNING queue"
)
_LIST = statement(
    "SELECT $columns FROM jobs j"
    " WHERE (CAST(:states AS text[]) IS NULL OR j.state = ANY(CAST(:states AS text[])))"
    " AND (CAST(:kind AS text) IS NULL OR j.kind = :kind)"
    " AND j.crashes >= :crashes AND (CAST(:before AS bigint) IS NULL OR j.seq < :before)"
    " ORDER BY j.seq DESC LIMIT :most"
)
_ALIVE = statement(
    "SELECT j.id FROM jobs j WHERE j.serial_key = :serial_key AND j.kind = :kind"
    " AND j.state IN ('pending', 'running', 'waiting') ORDER BY j.seq"
)
_COUNTS = statement(
    "SELECT queue, state, count(*) AS jobs, min(CASE WHEN state = 'pending' THEN run_at"
    " ELSE created END) AS oldest FROM jobs WHERE state IN ('pending', 'running', 'waiting')"
    " GROUP BY queue, state"
    " UNION ALL SELECT queue, state, count(*), min(finished) FROM jobs"
    " WHERE state = 'failed' AND finished IS NOT NULL GROUP BY queue, state ORDER BY 1, 2"
)


@dataclass(frozen=True)
class Count:
    """How many jobs of a queue are in a state; `oldest` since when the first one is."""

    queue: str
    state: JobState
    jobs: int
    oldest: datetime | None


def alive(work: Work, serial_key: str, kind: str) -> list[str]:
    """Return the ids of a key's jobs of one kind that have not ended, in their order."""
    return [row.id for row in work.execute(_ALIVE, serial_key=serial_key, kind=kind)]


def get(database: Database, job_id: str) -> Job | None:
    """Return one job."""
    rows = database.run(_GET, id=job_id)
    return job_of(rows[0]) if rows else None


def read(work: Work, job_id: str) -> Job | None:
    """Return one job as this transaction sees it, unlocked."""
    row = work.execute(_GET, id=job_id).first()
    return None if row is None else job_of(row)


def lock(work: Work, job_id: str) -> Job | None:
    """Lock the row against every change and return it."""
    row = work.execute(_LOCK, id=job_id).first()
    return None if row is None else job_of(row)


def request_cancel(work: Work, job_id: str, reason: str) -> None:
    """Flag a running, locked job and tell the workers with the commit."""
    work.execute(_REQUEST_CANCEL, id=job_id, reason=reason)


def cancel(work: Work, job_id: str, reason: str) -> None:
    """End a locked job that is not running, and what it waited for."""
    work.execute(_CANCEL, id=job_id, reason=reason)


def again(work: Work, job_id: str) -> str | None:
    """Put a failed job back with fresh counters; its queue, None when it had not failed."""
    row = work.execute(_AGAIN, id=job_id).first()
    return None if row is None else str(row.queue)


def listing(
    database: Database,
    states: Sequence[JobState] = (),
    kind: str | None = None,
    crashes: int = 0,
    before: int | None = None,
    most: int = 50,
) -> list[Job]:
    """Return the latest jobs that fit, newest first: of this many crashes at least."""
    wanted = [str(state) for state in states] or None
    rows = database.run(_LIST, states=wanted, kind=kind, crashes=crashes, before=before, most=most)
    return [job_of(row) for row in rows]


def counts(database: Database) -> list[Count]:
    """Count the jobs that are alive or failed, by queue and state."""
    rows = database.run(_COUNTS)
    return [Count(r.queue, JobState(r.state), r.jobs, r.oldest) for r in rows]
