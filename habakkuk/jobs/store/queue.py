"""Jobs on their way in: enqueue and claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg2.errors import UniqueViolation
from sqlalchemy import TextClause

from habakkuk.db.engine import Database, Work
from habakkuk.jobs.store.fragments import LEASE_SECONDS, as_json, job_of, statement
from habakkuk.jobs.types import Job, NewJob

_ENQUEUE = statement(
    "INSERT INTO jobs (id, kind, queue, serial_key, priority, payload, run_at, max_attempts)"
    " VALUES (:id, :kind, :queue, :serial_key, :priority, CAST(:payload AS jsonb),"
    " now() + :delay * interval '1 s', :max_attempts)"
    " ON CONFLICT (id) DO NOTHING RETURNING id"
)
_CLAIM_ONE = statement(
    "WITH c AS (SELECT j.id FROM jobs j WHERE j.id = :id AND $pending"
    " AND j.run_at <= now() AND j.crashes < $poison AND $head"
    " FOR NO KEY UPDATE OF j SKIP LOCKED)"
    " UPDATE jobs j SET $fresh_lease FROM c WHERE j.id = c.id RETURNING $columns"
)
_CLAIM_NEXT = statement(
    "WITH c AS (SELECT j.id FROM jobs j WHERE j.queue = :queue AND j.state = 'pending'"
    " AND j.run_at <= now() AND j.crashes < $poison AND $head"
    " ORDER BY j.priority, j.run_at, j.seq LIMIT 1 FOR NO KEY UPDATE OF j SKIP LOCKED)"
    " UPDATE jobs j SET $fresh_lease FROM c WHERE j.id = c.id RETURNING $columns"
)
_CLAIM_POISON = statement(
    "WITH c AS (SELECT j.id FROM jobs j WHERE j.queue = ANY(:queues) AND j.state = 'pending'"
    " AND j.run_at <= now() AND j.crashes >= $poison AND $head"
    " ORDER BY j.seq LIMIT 1 FOR NO KEY UPDATE OF j SKIP LOCKED)"
    " UPDATE jobs j SET $fresh_lease FROM c WHERE j.id = c.id RETURNING $columns"
)
# A claim that lost a race on its key tries again; the winner is then visible to its head test.
_TRIES = 5


@dataclass(frozen=True)
class Owner:
    """Who claims: the name for people, the number of its presence lock, how long a lease lasts."""

    name: str
    lock: int
    lease: float = LEASE_SECONDS


def enqueue(work: Work, job: NewJob) -> bool:
    """Insert the job; False when its id is known already."""
    inserted = work.execute(
        _ENQUEUE,
        id=job.id,
        kind=job.kind,
        queue=str(job.queue),
        serial_key=job.serial_key,
        priority=job.priority,
        payload=as_json(job.payload),
        delay=job.delay,
        max_attempts=job.max_attempts,
    )
    return inserted.first() is not None


def claim_one(database: Database, job_id: str, owner: Owner) -> Job | None:
    """Claim this job when it is due, ordinary and the head of its key."""
    return _claim(database, _CLAIM_ONE, owner, id=job_id)


def claim_next(database: Database, queue: str, owner: Owner) -> Job | None:
    """Claim the most urgent due job of a queue, None when there is none."""
    return _claim(database, _CLAIM_NEXT, owner, queue=queue)


def claim_poison(database: Database, queues: Sequence[str], owner: Owner) -> Job | None:
    """Claim the oldest due job that has killed its workers; only the probe may."""
    return _claim(database, _CLAIM_POISON, owner, queues=list(queues))


def _claim(database: Database, sql: TextClause, owner: Owner, **params: object) -> Job | None:
    for _ in range(_TRIES):
        try:
            rows = database.run(
                sql, owner=owner.name, owner_lock=owner.lock, lease=owner.lease, **params
            )
        except UniqueViolation:
            continue
        else:
            return job_of(rows[0]) if rows else None
    return None
