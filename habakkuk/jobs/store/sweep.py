"""What the sweeper finds and mends: dead owners, due jobs, poison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from habakkuk.db.engine import Database, Work
from habakkuk.jobs.store.fragments import job_of, statement
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.types import Job

_ALONE = statement("SELECT pg_try_advisory_xact_lock(7778, 2) AS mine")
# All that the others here, and waits.expire, could find, by reading alone.
_SOMETHING = statement(
    "WITH present AS MATERIALIZED ($present) SELECT 1 WHERE"
    " EXISTS (SELECT 1 FROM jobs j LEFT JOIN present p ON p.lock = CAST(j.owner_lock AS oid)"
    " WHERE j.state = 'running'"
    " AND (p.lock IS NULL AND $rested OR j.lease_until < clock_timestamp()))"
    " OR EXISTS (SELECT 1 FROM waits w WHERE w.resolved_at IS NULL"
    " AND w.expires_at < clock_timestamp())"
)
# Dead: the lease is over, or (PostgreSQL having rested) nobody holds the presence lock. A job that
# died in the probe (poison, and no presence) is not taken over here: it is set aside. How long
# nobody was there to see it, as with the machine off, counts as waited.
_TAKE_OVER = statement(
    "WITH present AS MATERIALIZED ($present),"
    " dead AS (SELECT j.id, j.fence, j.owner_lock, j.lease_until"
    " FROM jobs j LEFT JOIN present p ON p.lock = CAST(j.owner_lock AS oid)"
    " WHERE j.state = 'running' AND CASE WHEN p.lock IS NULL AND $rested"
    " THEN j.crashes < $poison ELSE j.lease_until < clock_timestamp() END"
    " LIMIT 100 FOR NO KEY UPDATE OF j SKIP LOCKED),"
    " absent AS (INSERT INTO waits ($absence) SELECT 'away_' || d.id || '_' || d.fence, d.id,"
    " 'worker', d.lease_until, clock_timestamp(), 'taken', clock_timestamp() FROM dead d"
    " WHERE d.lease_until < clock_timestamp() - $absent)"
    " UPDATE jobs j SET state = 'pending', crashes = j.crashes + 1, $no_lease"
    " FROM dead WHERE j.id = dead.id"
    " RETURNING j.id, j.queue, j.serial_key, dead.fence, dead.owner_lock, j.crashes"
)
_KILLERS = statement(
    "WITH present AS MATERIALIZED ($present) SELECT $columns"
    " FROM jobs j LEFT JOIN present p ON p.lock = CAST(j.owner_lock AS oid)"
    " WHERE j.state = 'running' AND j.crashes >= $poison AND p.lock IS NULL AND $rested LIMIT 20"
)
_SET_ASIDE = statement(
    "WITH e AS (UPDATE jobs j SET state = 'failed', crashes = j.crashes + 1, error = :error,"
    " finished = clock_timestamp(), $no_lease WHERE $held"
    " AND NOT EXISTS (SELECT 1 FROM ($present) p WHERE p.lock = CAST(j.owner_lock AS oid))"
    " RETURNING j.id, j.serial_key, j.state),"
    " w AS (UPDATE waits SET resolved_at = clock_timestamp(), outcome = 'cancelled'"
    " WHERE job_id = (SELECT id FROM e) AND resolved_at IS NULL)"
    " SELECT $done_notice FROM e"
)
_POISONED = statement(
    "SELECT 1 FROM jobs j WHERE j.state = 'pending' AND j.crashes >= $poison"
    " AND j.run_at <= now() AND j.queue = ANY(:queues) AND $head"
    # A probe of this host that runs already would only refuse the next one.
    " AND NOT EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted"
    " AND l.classid = 7779 AND l.objid = CAST(:host AS oid) AND l.objsubid = 2"
    " AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))"
    " LIMIT 1"
)
_DUE = statement(
    "SELECT j.id, j.queue, j.serial_key, f.last_value AS latest_fence"
    " FROM fence_seq f CROSS JOIN unnest(CAST(:queues AS text[])) q(name)"
    " CROSS JOIN LATERAL (SELECT j.id, j.queue, j.serial_key FROM jobs j WHERE j.queue = q.name"
    " AND j.state = 'pending' AND j.run_at <= now() AND j.crashes < $poison AND $head"
    " ORDER BY j.priority, j.run_at, j.seq LIMIT :most) j"
)


@dataclass(frozen=True)
class Taken:
    """A job that was taken over from a dead owner."""

    id: str
    queue: str
    serial_key: str | None
    fence: int
    owner_lock: int
    crashes: int


@dataclass(frozen=True)
class Due:
    """A job that could be claimed, and the newest fence when this was read."""

    id: str
    queue: str
    serial_key: str | None
    latest_fence: int


def finds_something(database: Database) -> bool:
    """Say whether there may be something to mend, in one round trip that locks nothing."""
    return bool(database.run(_SOMETHING))


def alone(work: Work) -> bool:
    """Take the sweep for this transaction; False when another process is at it."""
    row = work.execute(_ALONE)[0]
    return bool(row.mine)


def take_over(work: Work) -> list[Taken]:
    """Put the jobs of dead owners back, one crash more."""
    return [Taken(**row._asdict()) for row in work.execute(_TAKE_OVER)]


def killers(work: Work) -> list[Job]:
    """Return the jobs that died in the probe."""
    return [job_of(row) for row in work.execute(_KILLERS)]


def set_aside(work: Work, lease: Lease, error: str) -> bool:
    """End a job that died in the probe; False when that is no longer so."""
    row = work.execute(_SET_ASIDE, id=lease.id, fence=lease.fence, error=error).first()
    return row is not None


def poisoned(database: Database, queues: Sequence[str], host: int) -> bool:
    """Say whether a job waits for the probe and this host runs none."""
    return bool(database.run(_POISONED, queues=list(queues), host=host))


def due(database: Database, queues: Sequence[str], most: int) -> list[Due]:
    """Return up to `most` due jobs of each queue."""
    rows = database.run(_DUE, queues=list(queues), most=most)
    return [Due(**row._asdict()) for row in rows]
