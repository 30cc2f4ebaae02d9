"""The task list in a session's row; the take of a turn reads it along."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.core.errors import NotFound
from habakkuk.db.engine import Work

_LOCK = text("SELECT todo FROM sessions WHERE id = :id FOR NO KEY UPDATE")
_SAVE = text("UPDATE sessions SET todo = CAST(:todo AS jsonb) WHERE id = :id")


def lock(work: Work, session_id: str) -> dict[str, Any] | None:
    """Lock a session's row and return its list, None for none. Raises NotFound."""
    row = work.execute(_LOCK, id=session_id).first()
    if row is None:
        raise NotFound(f"there is no session {session_id!r}")
    found: dict[str, Any] | None = row.todo
    return found


def save(work: Work, session_id: str, todo: dict[str, Any] | None) -> None:
    """Store a session's list. After lock."""
    work.execute(_SAVE, id=session_id, todo=None if todo is None else orjson.dumps(todo).decode())
