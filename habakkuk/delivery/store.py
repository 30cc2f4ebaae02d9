"""SQL of deliveries. Every write proves the fence of the job that does it, in its statement."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from sqlalchemy import text

from habakkuk.conversations.types import Target
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row
from habakkuk.delivery.types import Chunk, ChunkState, Delivery, DeliveryState, Mark
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.types import JobState

_LOAD = text("""
    SELECT d.id, d.turn_id, d.body, d.state, d.created, (
        SELECT coalesce(
            jsonb_agg(jsonb_build_array(c.n, c.key, c.body, c.state) ORDER BY c.n), '[]')
        FROM delivery_chunks c WHERE c.delivery_id = d.id
    ) AS chunks, (
        SELECT t.draft FROM turns t WHERE t.id = d.turn_id AND t.ended IS NOT NULL
    ) AS draft
    FROM deliveries d WHERE d.id = :id
""")
_DRAFT_OF = text("SELECT draft FROM turns WHERE id = :turn_id AND ended IS NULL")
_KEEP_DRAFT = text("""
    UPDATE turns SET draft = :draft
    WHERE id = :turn_id AND ended IS NULL AND (draft IS NULL OR draft = :draft) RETURNING id
""")
_DROP_DRAFT = text("UPDATE turns SET draft = NULL WHERE id = :turn_id AND draft = :draft")
_HELD = """
    WITH held AS MATERIALIZED (
        SELECT j.id FROM jobs j WHERE j.id = :id AND j.fence = :fence AND j.state = 'running'
        FOR NO KEY UPDATE OF j
    )"""
_PLAN = text(f"""{_HELD}, planned AS (
        INSERT INTO delivery_chunks (delivery_id, n, key, body)
        SELECT held.id, c.n, c.key, c.body
        FROM held, jsonb_to_recordset(CAST(:chunks AS jsonb)) AS c(n int, key text, body text)
        ON CONFLICT DO NOTHING
    ), begun AS (
        UPDATE deliveries d SET state = 'sending' FROM held WHERE d.id = held.id
    )
    SELECT id FROM held
""")
_MARK = text(f"""{_HELD}, marked AS (
        UPDATE delivery_chunks c
        SET state = :state, platform_id = coalesce(:platform_id, c.platform_id),
            attempts = c.attempts + :attempt, uncertain = c.uncertain + :uncertain,
            updated = clock_timestamp()
        FROM held WHERE c.delivery_id = held.id AND c.n = :n
    ), begun AS (
        UPDATE deliveries d SET state = 'sending' FROM held
        WHERE d.id = held.id AND d.state = 'pending'
    ), moved_on AS (
        UPDATE jobs j SET attempt = 0, crashes = 0
        FROM held WHERE j.id = held.id AND :moved_on AND (j.attempt > 0 OR j.crashes > 0)
    )
    SELECT id FROM held
""")
_REPLACE = text(f"""{_HELD}, replaced AS (
        UPDATE delivery_chunks c
        SET key = :key, body = :body, state = 'pending', updated = clock_timestamp()
        FROM held WHERE c.delivery_id = held.id AND c.n = :n
    )
    SELECT id FROM held
""")
_END = text(f"""{_HELD}, job AS (
        UPDATE jobs j SET state = :job_state, error = :error, finished = clock_timestamp(),
               owner = NULL, owner_lock = NULL, lease_until = NULL
        FROM held WHERE j.id = held.id
    ), chunk AS (
        UPDATE delivery_chunks c
        SET state = :chunk_state, platform_id = coalesce(:platform_id, c.platform_id),
            updated = clock_timestamp()
        FROM held WHERE c.delivery_id = held.id AND c.n = :n
    ), ended AS (
        UPDATE deliveries d SET state = :state, error = :error, finished = clock_timestamp()
        FROM held WHERE d.id = held.id
    )
    SELECT id FROM held
""")
_GIVE_UP = text("""
    UPDATE deliveries SET state = 'failed', error = :error, finished = clock_timestamp()
    WHERE id = :id AND finished IS NULL
""")
_REOPEN = text("""
    WITH chunks AS (
        UPDATE delivery_chunks SET state = 'pending'
        WHERE delivery_id = :id AND state = 'failed'
    )
    UPDATE deliveries SET state = 'pending', error = NULL, finished = NULL, created = now()
    WHERE id = :id
""")


_REPORTS = text("""
    SELECT d.id, d.body -> 'target' ->> 'account' AS account, d.body -> 'target' ->> 'chat' AS chat,
           d.state, d.error, d.created, c.parts, c.sent, c.unknown, c.uncertain
    FROM deliveries d CROSS JOIN LATERAL (
        SELECT count(*)::int AS parts,
               count(*) FILTER (WHERE state = 'sent')::int AS sent,
               count(*) FILTER (WHERE state = 'unknown')::int AS unknown,
               coalesce(sum(uncertain), 0)::int AS uncertain
        FROM delivery_chunks WHERE delivery_id = d.id
    ) AS c
    WHERE d.state = ANY(:states) OR (:doubtful AND (c.unknown > 0 OR c.uncertain > 0))
    ORDER BY d.created DESC LIMIT :limit
""")


def load(database: Database, delivery_id: str) -> Delivery | None:
    """Return a delivery with its chunks."""
    rows = database.run(_LOAD, id=delivery_id)
    return _delivery(rows[0]) if rows else None


def load_in(work: Work, delivery_id: str) -> Delivery | None:
    """Return the same inside a transaction."""
    row = work.execute(_LOAD, id=delivery_id).first()
    return _delivery(row) if row else None


def reports(
    database: Database, states: Sequence[DeliveryState], limit: int, *, doubtful: bool
) -> Sequence[Row]:
    """Return deliveries in these states with what became of their parts, the latest first."""
    named = [str(state) for state in states]
    return database.run(_REPORTS, states=named, limit=limit, doubtful=doubtful)


def draft_of(database: Database, turn_id: str) -> str | None:
    """Return the id of a running turn's message of progress, "" without one; None: it has ended."""
    rows = database.run(_DRAFT_OF, turn_id=turn_id)
    return (rows[0].draft or "") if rows else None


def keep_draft(database: Database, turn_id: str, draft: str) -> bool:
    """Keep the id of such a message with its turn; False when that has ended or has another."""
    return bool(database.run(_KEEP_DRAFT, turn_id=turn_id, draft=draft))


def drop_draft(database: Database, turn_id: str, draft: str) -> None:
    """Forget such a message, which is gone."""
    database.run(_DROP_DRAFT, turn_id=turn_id, draft=draft)


def plan(database: Database, lease: Lease, chunks: Sequence[Chunk]) -> bool:
    """Store how a delivery is split; False when the lease is lost."""
    rows = [{"n": chunk.n, "key": chunk.key, "body": chunk.body} for chunk in chunks]
    chunk_rows = orjson.dumps(rows).decode()
    return bool(database.run(_PLAN, id=lease.id, fence=lease.fence, chunks=chunk_rows))


def mark(database: Database, lease: Lease, mark: Mark) -> bool:
    """Note where one chunk stands; False when the lease is lost.

    SENDING counts an attempt. With SENT the job forgets its failures and crashes: each chunk has
    all tries of its own.
    """
    found = database.run(
        _MARK,
        id=lease.id,
        fence=lease.fence,
        n=mark.n,
        state=mark.state,
        platform_id=mark.platform_id,
        attempt=int(mark.state is ChunkState.SENDING),
        uncertain=int(mark.uncertain),
        moved_on=mark.state is ChunkState.SENT,
    )
    return bool(found)


def replace_chunk(database: Database, lease: Lease, chunk: Chunk) -> bool:
    """Let another message stand in a chunk's place; False when the lease is lost."""
    named = {"n": chunk.n, "key": chunk.key, "body": chunk.body}
    return bool(database.run(_REPLACE, id=lease.id, fence=lease.fence, **named))


def end(
    database: Database,
    lease: Lease,
    state: DeliveryState,
    error: str | None = None,
    last: Mark | None = None,
) -> bool:
    """End delivery and job, with what became of the last chunk; False when the lease is lost.

    A delivery that did not get out is a failed job: so it is seen.
    """
    good = state in {DeliveryState.SENT, DeliveryState.EXPIRED}
    found = database.run(
        _END,
        id=lease.id,
        fence=lease.fence,
        state=state,
        job_state=JobState.DONE if good else JobState.FAILED,
        error=error,
        n=last.n if last else 0,
        chunk_state=last.state if last else ChunkState.SENT,
        platform_id=last.platform_id if last else None,
    )
    return bool(found)


def give_up(work: Work, delivery_id: str, error: str) -> None:
    """Note an end that the job did not write itself."""
    work.execute(_GIVE_UP, id=delivery_id, error=error)


def reopen(work: Work, delivery_id: str) -> None:
    """Let a failed or held delivery go out again; what is unknown is settled first."""
    work.execute(_REOPEN, id=delivery_id)


def _delivery(row: Row) -> Delivery:
    body = row.body
    chunks = [Chunk(n, key, text, ChunkState(state)) for n, key, text, state in row.chunks]
    return Delivery(
        id=row.id,
        turn_id=row.turn_id,
        target=Target(**body["target"]),
        text=body["text"],
        kind=body["kind"],
        data=body.get("data", {}),
        state=DeliveryState(row.state),
        created=row.created,
        chunks=chunks,
        buttons=[(label, data) for label, data in body.get("buttons", ())],
        draft=row.draft,
    )
