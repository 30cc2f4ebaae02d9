"""Wake-ups through PostgreSQL, for when the broker is away."""

from __future__ import annotations

from collections.abc import Sequence

from habakkuk.db.engine import Database
from habakkuk.jobs.store.fragments import statement

_NOTIFY = statement(
    "SELECT pg_notify('hab_wake', w.word) FROM unnest(CAST(:words AS text[])) w(word)"
)


def notify_wakes(database: Database, wakes: Sequence[tuple[str, str]]) -> None:
    """Tell every worker that listens of these (queue, job)."""
    database.run(_NOTIFY, words=[f"{queue} {job_id}" for queue, job_id in wakes])


def read_wake(payload: str) -> tuple[str, str]:
    """Return the (queue, job) of a notification."""
    queue, _, job_id = payload.partition(" ")
    return queue, job_id
