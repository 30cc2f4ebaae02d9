"""The rows that say which files are complete."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.db.engine import Database

_ADD = text(
    "INSERT INTO blobs (id, size, mime) VALUES (:id, :size, :mime) ON CONFLICT (id) DO NOTHING"
)
_FIND = text("SELECT size, mime FROM blobs WHERE id = :id")


def add(database: Database, blob: str, size: int, mime: str) -> None:
    """Record a complete file; known ones stay as they are."""
    database.run(_ADD, id=blob, size=size, mime=mime)


def find(database: Database, blob: str) -> tuple[int, str] | None:
    """Return (bytes, mime) of a blob, None when it is unknown."""
    rows = database.run(_FIND, id=blob)
    return (rows[0].size, rows[0].mime) if rows else None
