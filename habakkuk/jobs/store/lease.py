"""A claimed job under its fence: prove it, renew it, give it back, end it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from habakkuk.db.engine import Database, Work
from habakkuk.jobs.store.fragments import LEASE_SECONDS, as_json, statement
from habakkuk.jobs.types import JobState

_GUARD = statement("SELECT 1 FROM jobs j WHERE $held FOR SHARE OF j")
_GUARD_CHANGE = statement(
    "SELECT j.cancel_requested, j.error FROM jobs j WHERE $held FOR NO KEY UPDATE OF j"
)
_PROGRESSED = statement("UPDATE jobs j SET crashes = 0 WHERE $held AND j.crashes > 0")
# What still waited for an answer waits no longer: nobody may press a button of an ended job.
_FINISH = statement(
    "WITH e AS (UPDATE jobs j SET state = :state, result = CAST(:result AS jsonb),"
    " error = :error, finished = clock_timestamp(), $no_lease WHERE $held"
    " RETURNING j.id, j.serial_key, j.state),"
    " w AS (UPDATE waits SET resolved_at = clock_timestamp(), outcome = 'cancelled'"
    " WHERE job_id = (SELECT id FROM e) AND resolved_at IS NULL)"
    " SELECT $done_notice FROM e"
)
_RELEASE = statement(
    "UPDATE jobs j SET state = 'pending', run_at = clock_timestamp() + :delay * interval '1 s',"
    " $no_lease WHERE $held RETURNING j.id"
)
# Full jitter: many jobs that failed together do not come back together. One that a person
# cancelled meanwhile comes back at once, to be ended. Who asks to be left alone for a moment, time
# and again, is away: believed for ever, it would use up a day of tries within minutes.
_BELIEVED = 6
_RETRY = statement(
    "UPDATE jobs j SET state = 'pending', attempt = j.attempt + 1, $no_lease,"
    " error = CASE WHEN j.cancel_requested THEN j.error ELSE :error END,"
    " run_at = clock_timestamp() + interval '1 s' * CASE WHEN j.cancel_requested THEN 0 ELSE"
    " COALESCE(CAST(:after AS double precision),"
    f" CASE WHEN j.attempt < {_BELIEVED} THEN CAST(:asked AS double precision) END,"
    " greatest(CAST(:asked AS double precision),"
    " random() * least(300, power(2, least(j.attempt + 1, 10))))) END WHERE $held RETURNING j.id"
)
# Rows that somebody has locked just now are left for the next beat, five seconds on: waiting for
# them could deadlock with a transaction that ends two jobs at once.
_HEARTBEAT = statement(
    "WITH h AS (SELECT * FROM unnest(CAST(:ids AS text[]), CAST(:fences AS bigint[]))"
    " AS h(id, fence)),"
    " free AS (SELECT j.id FROM jobs j JOIN h ON h.id = j.id AND h.fence = j.fence"
    " WHERE j.state = 'running' FOR NO KEY UPDATE OF j SKIP LOCKED),"
    " renewed AS (UPDATE jobs j SET lease_until = clock_timestamp() + :seconds * interval '1 s'"
    " FROM free WHERE j.id = free.id RETURNING j.id)"
    " SELECT j.fence, j.cancel_requested, r.id IS NOT NULL AS renewed"
    " FROM jobs j JOIN h ON h.id = j.id AND h.fence = j.fence LEFT JOIN renewed r ON r.id = j.id"
    " WHERE j.state = 'running'"
)


@dataclass(frozen=True)
class Lease:
    """The proof of one claim."""

    id: str
    fence: int


@dataclass(frozen=True)
class Beat:
    """What a heartbeat found of one fence; `renewed` is False when its row was locked."""

    fence: int
    cancel_requested: bool
    renewed: bool


@dataclass(frozen=True)
class Cancellation:
    """Whether the running job is to be cancelled, and what the person said."""

    requested: bool
    reason: str | None


def guard(work: Work, lease: Lease) -> bool:
    """Hold the row against a takeover until the commit; False when the lease is lost."""
    return work.execute(_GUARD, id=lease.id, fence=lease.fence).first() is not None


def guard_change(work: Work, lease: Lease) -> Cancellation | None:
    """As guard, for a transaction that changes the job row too; None when the lease is lost."""
    row = work.execute(_GUARD_CHANGE, id=lease.id, fence=lease.fence).first()
    return None if row is None else Cancellation(row.cancel_requested, row.error)


def progressed(work: Work, lease: Lease) -> None:
    """Forget the crashes: the job moved on."""
    work.execute(_PROGRESSED, id=lease.id, fence=lease.fence)


def finish(work: Work, lease: Lease, state: JobState, detail: dict[str, Any]) -> bool:
    """End the job; False when the lease is lost."""
    return work.execute(_FINISH, **_ending(lease, state, detail)).first() is not None


def finish_alone(database: Database, lease: Lease, state: JobState, detail: dict[str, Any]) -> bool:
    """End the job as a transaction of its own, in one round trip."""
    return bool(database.run(_FINISH, **_ending(lease, state, detail)))


def release(database: Database, lease: Lease, delay: float = 0.0) -> bool:
    """Give the job back as it was, due in `delay` seconds; no counter moves."""
    return bool(database.run(_RELEASE, id=lease.id, fence=lease.fence, delay=delay))


def retry(
    database: Database, lease: Lease, error: str, after: float | None, asked: float | None = None
) -> bool:
    """Count a failure and put the job back, after the back-off or `after` seconds.

    `asked` is how long another system wants to be left alone: it takes the place of the back-off
    for the first tries, later the longer of both counts.
    """
    named = {"error": error, "after": after, "asked": asked}
    return bool(database.run(_RETRY, id=lease.id, fence=lease.fence, **named))


def heartbeat(
    database: Database, leases: Sequence[Lease], seconds: float = LEASE_SECONDS
) -> list[Beat]:
    """Renew all these leases for `seconds`; what is not in the answer is lost."""
    rows = database.run(
        _HEARTBEAT,
        ids=[lease.id for lease in leases],
        fences=[lease.fence for lease in leases],
        seconds=seconds,
    )
    return [Beat(row.fence, row.cancel_requested, row.renewed) for row in rows]


def _ending(lease: Lease, state: JobState, detail: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": lease.id,
        "fence": lease.fence,
        "state": str(state),
        "result": as_json(detail.get("result")),
        "error": detail.get("error"),
    }
