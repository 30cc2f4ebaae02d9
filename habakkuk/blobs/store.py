"""The rows that say which files are complete."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from habakkuk.db.engine import Database, Work

# Stored anew, a file is young again: who stored it is about to name it.
_ADD = text("""
    INSERT INTO blobs AS b (id, size, mime, session_id) VALUES (:id, :size, :mime, :session_id)
    ON CONFLICT (id) DO UPDATE
    SET stored = now(), session_id = coalesce(excluded.session_id, b.session_id)
""")
_FIND = text("SELECT size, mime FROM blobs WHERE id = :id")
_REMOVE = text("""
    DELETE FROM blobs WHERE id = ANY(:ids) AND stored < now() - :older * interval '1 s'
    RETURNING id
""")


def add(database: Database, blob: str, size: int, mime: str, session_id: str | None) -> None:
    """Record a complete file; a known one keeps its type and counts as stored now."""
    database.run(_ADD, id=blob, size=size, mime=mime, session_id=session_id)


def find(database: Database, blob: str) -> tuple[int, str] | None:
    """Return (bytes, mime) of a blob, None when it is unknown."""
    rows = database.run(_FIND, id=blob)
    return (rows[0].size, rows[0].mime) if rows else None


def remove(work: Work, blobs: Sequence[str], older: float) -> list[str]:
    """Remove the rows of those not stored for `older` seconds; return which."""
    return [row.id for row in work.execute(_REMOVE, ids=list(blobs), older=older)]
