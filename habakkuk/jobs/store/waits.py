"""What jobs wait for. Park and resolve both lock the job row first: no wake-up is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from habakkuk.db.engine import Database, Work
from habakkuk.jobs.store.fragments import as_json, statement, wait_of
from habakkuk.jobs.store.lease import Lease, guard_change
from habakkuk.jobs.types import NewWait, Wait

_OPEN = statement(
    "INSERT INTO waits (id, job_id, kind, payload, expires_at) VALUES (:id, :job_id, :kind,"
    " CAST(:payload AS jsonb), clock_timestamp() + CAST(:expires_in AS double precision)"
    " * interval '1 s') ON CONFLICT (id) DO NOTHING"
)
_COLUMNS = "id, job_id, kind, payload, outcome, answer, consumed_at, expires_at"
_OF_JOB = statement(f"SELECT {_COLUMNS} FROM waits WHERE job_id = :job_id ORDER BY created, id")
_GET = statement(f"SELECT {_COLUMNS} FROM waits WHERE id = :id")
# Waits that lay over each other count once.
_WAITED = statement(
    "SELECT coalesce(sum(extract(epoch FROM upper(span) - lower(span))), 0) AS seconds FROM unnest("
    "(SELECT range_agg(tstzrange(w.created, w.resolved_at)) FROM waits w"
    " WHERE w.job_id = :job_id AND w.resolved_at > w.created)) AS span"
)
# Of a job that was taken over the sweep has noted it, and `run_at` is from before it ran.
_NOTE_ABSENCE = statement(
    "INSERT INTO waits ($absence) SELECT 'away_' || j.id || '_' || j.fence, j.id, 'worker',"
    " j.run_at, clock_timestamp(), 'taken', clock_timestamp() FROM jobs j"
    " WHERE $held AND j.crashes = 0 AND j.run_at < clock_timestamp() - $absent"
    " ON CONFLICT (id) DO NOTHING"
)
_CONSUME = statement(
    "UPDATE waits SET consumed_at = clock_timestamp()"
    " WHERE id = :id AND job_id = :job_id AND resolved_at IS NOT NULL AND consumed_at IS NULL"
)
# A fresh statement after the row lock, so that it sees every resolve that came before.
_PARK = statement(
    "UPDATE jobs j SET state = 'waiting', $no_lease WHERE $held"
    " AND EXISTS (SELECT 1 FROM waits w WHERE w.job_id = j.id AND w.resolved_at IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.job_id = j.id"
    " AND w.resolved_at IS NOT NULL AND w.consumed_at IS NULL) RETURNING j.id"
)
_LOCK_JOB = statement(
    "SELECT j.id FROM jobs j WHERE j.id = (SELECT job_id FROM waits WHERE id = :id)"
    " FOR NO KEY UPDATE OF j"
)
_RESOLVE = statement(
    "UPDATE waits SET resolved_at = clock_timestamp(), outcome = :outcome,"
    " answer = CAST(:answer AS jsonb) WHERE id = :id AND resolved_at IS NULL"
    # One whose time is over is the sweep's, also when no worker was there to sweep.
    " AND (expires_at IS NULL OR expires_at >= clock_timestamp()) RETURNING job_id"
)
_WAKE = statement(
    "UPDATE jobs j SET state = 'pending', run_at = clock_timestamp()"
    " WHERE j.id = :id AND $waiting RETURNING j.queue"
)
_LOCK_EXPIRED = statement(
    "SELECT j.id FROM jobs j WHERE j.id IN (SELECT w.job_id FROM waits w"
    " WHERE w.resolved_at IS NULL AND w.expires_at < clock_timestamp() LIMIT 100)"
    " FOR NO KEY UPDATE OF j SKIP LOCKED"
)
_EXPIRE = statement(
    "WITH w AS (UPDATE waits SET resolved_at = clock_timestamp(), outcome = 'expired'"
    " WHERE job_id = ANY(:ids) AND resolved_at IS NULL AND expires_at < clock_timestamp()"
    " RETURNING job_id)"
    " UPDATE jobs j SET state = 'pending', run_at = clock_timestamp()"
    " WHERE j.id IN (SELECT job_id FROM w) AND $waiting"
)


def open_wait(work: Work, job_id: str, wait: NewWait) -> None:
    """Add a wait; a repeated id is a no-op."""
    work.execute(
        _OPEN,
        id=wait.id,
        job_id=job_id,
        kind=wait.kind,
        payload=as_json(wait.payload),
        expires_in=wait.expires_in,
    )


def waits_of(work: Work, job_id: str) -> Sequence[Wait]:
    """Return every wait of a job, oldest first."""
    return [wait_of(row) for row in work.execute(_OF_JOB, job_id=job_id)]


def get_wait(database: Database, wait_id: str) -> Wait | None:
    """Return one wait."""
    rows = database.run(_GET, id=wait_id)
    return wait_of(rows[0]) if rows else None


def get_in(work: Work, wait_id: str) -> Wait | None:
    """Return one wait inside a transaction."""
    row = work.execute(_GET, id=wait_id).first()
    return wait_of(row) if row else None


def waited(database: Database, job_id: str) -> float:
    """Return for how many seconds a job has waited for what is resolved by now."""
    return float(database.run(_WAITED, job_id=job_id)[0].seconds)


def note_absence(work: Work, lease: Lease) -> None:
    """Count as waited how long a job that goes on was due and nobody ran it."""
    work.execute(_NOTE_ABSENCE, id=lease.id, fence=lease.fence)


def consume(work: Work, job_id: str, wait_id: str) -> None:
    """Mark a resolved wait of the job as used."""
    work.execute(_CONSUME, id=wait_id, job_id=job_id)


def park(work: Work, lease: Lease) -> bool | None:
    """Park the job: True parked, False there is something to go on with, None lease lost.

    Two statements: the row lock, then the test that needs a snapshot taken after it.
    """
    if guard_change(work, lease) is None:
        return None
    return work.execute(_PARK, id=lease.id, fence=lease.fence).first() is not None


def resolve(
    work: Work, wait_id: str, outcome: str, answer: dict[str, Any] | None
) -> tuple[bool, tuple[str, str] | None]:
    """Resolve a wait: (whether it was open, (queue, job) when the job is to be woken).

    Three statements: the job's row lock, the wait, the job.
    """
    work.execute(_LOCK_JOB, id=wait_id)
    changed = work.execute(_RESOLVE, id=wait_id, outcome=outcome, answer=as_json(answer)).first()
    if changed is None:
        return False, None
    woken = work.execute(_WAKE, id=changed.job_id).first()
    return True, None if woken is None else (woken.queue, changed.job_id)


def expire(work: Work) -> int:
    """Resolve the waits whose time is over and return how many jobs had one.

    Two statements, as resolve. Rows in use are left for the next sweep.
    """
    ids = [row.id for row in work.execute(_LOCK_EXPIRED)]
    if ids:
        work.execute(_EXPIRE, ids=ids)
    return len(ids)
