"""What a person chose for a session: its model and how hard that thinks."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.db.engine import Work

_MODEL = text("UPDATE sessions SET model = :model WHERE id = :id")
_EFFORT = text("UPDATE sessions SET effort = :effort WHERE id = :id")
_GET = text("SELECT model, effort FROM sessions WHERE id = :id")


def get(work: Work, session_id: str) -> tuple[str | None, str | None]:
    """Return a session's model and effort, None for what is not chosen."""
    row = work.execute(_GET, id=session_id).first()
    return (row.model, row.effort) if row else (None, None)


def set_model(work: Work, session_id: str, model: str | None) -> None:
    """Choose a model as provider/model; None goes back to the agent's."""
    work.execute(_MODEL, id=session_id, model=model)


def set_effort(work: Work, session_id: str, effort: str | None) -> None:
    """Choose a level of effort; None goes back to the agent's."""
    work.execute(_EFFORT, id=session_id, effort=effort)
