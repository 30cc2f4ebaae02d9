"""What a person chose for a session: its model, how hard that thinks, how it sounds."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.db.engine import Work

_MODEL = text("UPDATE sessions SET model = :model WHERE id = :id")
_EFFORT = text("UPDATE sessions SET effort = :effort WHERE id = :id")
_PERSONALITY = text("UPDATE sessions SET personality = :personality WHERE id = :id")
_GET_PERSONALITY = text("SELECT personality FROM sessions WHERE id = :id")
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


def get_personality(work: Work, session_id: str) -> str | None:
    """Return the name of a session's personality."""
    row = work.execute(_GET_PERSONALITY, id=session_id).first()
    return row.personality if row else None


def set_personality(work: Work, session_id: str, personality: str | None) -> None:
    """Choose a personality by its name; None goes back to how the agent sounds by itself."""
    work.execute(_PERSONALITY, id=session_id, personality=personality)
