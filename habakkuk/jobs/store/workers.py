"""The processes that run jobs, and which of them are alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from habakkuk.db.engine import Database
from habakkuk.jobs.store.fragments import statement

_REGISTER = statement(
    "INSERT INTO workers (id, role, host, pid, owner_lock, queues, config_hash, version)"
    " VALUES (:id, :role, :host, :pid, :owner_lock, :queues, :config_hash, :version)"
    " ON CONFLICT (id) DO UPDATE SET owner_lock = excluded.owner_lock, seen = now()"
)
_SEEN = statement("UPDATE workers SET seen = clock_timestamp() WHERE id = :id RETURNING id")
_REMOVE = statement("DELETE FROM workers WHERE id = :id")
# A dead worker's row stays a day, for whoever asks what happened.
_FORGET = statement("DELETE FROM workers WHERE seen < now() - interval '1 day'")
_ALIVE = statement(
    "WITH present AS MATERIALIZED ($present)"
    " SELECT w.id, w.role, w.host, w.pid, w.owner_lock, w.queues, w.config_hash, w.version,"
    " w.started, w.seen FROM workers w JOIN present p ON p.lock = CAST(w.owner_lock AS oid)"
    " ORDER BY w.started, w.id"
)


@dataclass(frozen=True)
class WorkerRow:
    """One process as it registered itself; the times are the database's."""

    id: str
    role: str
    host: str
    pid: int
    owner_lock: int
    queues: Sequence[str]
    config_hash: str
    version: str
    started: datetime | None = field(default=None)
    seen: datetime | None = field(default=None)


def register(database: Database, worker: WorkerRow) -> None:
    """Write the row of this process, and forget those long gone (two statements)."""
    database.run(
        _REGISTER,
        id=worker.id,
        role=worker.role,
        host=worker.host,
        pid=worker.pid,
        owner_lock=worker.owner_lock,
        queues=list(worker.queues),
        config_hash=worker.config_hash,
        version=worker.version,
    )
    database.run(_FORGET)


def seen(database: Database, worker_id: str) -> bool:
    """Say that the process still is; False when its row is gone."""
    return bool(database.run(_SEEN, id=worker_id))


def remove(database: Database, worker_id: str) -> None:
    """Take the row of a process that ends out."""
    database.run(_REMOVE, id=worker_id)


def alive(database: Database) -> list[WorkerRow]:
    """Return the workers whose presence lock is held."""
    return [WorkerRow(**row._asdict()) for row in database.run(_ALIVE)]
