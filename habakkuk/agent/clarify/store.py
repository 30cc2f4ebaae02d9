"""SQL of questions. A conversation's row names its last one, so that admission need not search."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from habakkuk.agent.clarify.types import Question
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row
from habakkuk.tools.asking import CLARIFY

_COLUMNS = """
    w.id, w.job_id, w.payload, w.created, w.expires_at, w.outcome, t.session_id,
    t.conversation_id, t.user_id, t.agent, t.reply_to ? 'aside' AS aside
"""
_IS_OPEN = """
    w.resolved_at IS NULL AND (w.expires_at IS NULL OR w.expires_at >= clock_timestamp())
"""
_OPEN = text(f"""
    SELECT {_COLUMNS} FROM waits w JOIN turns t ON t.id = w.job_id
    WHERE w.kind = :kind AND {_IS_OPEN}
      AND (CAST(:user_id AS text) IS NULL OR t.user_id = :user_id)
    ORDER BY w.created, w.id
""")
_ONE = text(f"""
    SELECT {_COLUMNS} FROM waits w JOIN turns t ON t.id = w.job_id
    WHERE w.kind = :kind AND w.id = :id
""")
_OF = text(f"""
    SELECT {_COLUMNS},
           w.created <= clock_timestamp() - CAST(:age AS double precision) * interval '1 s' AS aged
    FROM conversations c JOIN waits w ON w.id = c.question JOIN turns t ON t.id = w.job_id
    WHERE c.id = :conversation_id AND {_IS_OPEN}
""")
_NAME = text("UPDATE conversations SET question = :wait_id WHERE id = :conversation_id")


def open_questions(database: Database, user_id: str | None) -> Sequence[Question]:
    """Return the open questions of a person's turns (of everybody for None), oldest first."""
    return [_question(row) for row in database.run(_OPEN, kind=CLARIFY, user_id=user_id)]


def get(database: Database, question_id: str) -> Question | None:
    """Return one question, open or answered."""
    rows = database.run(_ONE, kind=CLARIFY, id=question_id)
    return _question(rows[0]) if rows else None


def open_in(work: Work, conversation_id: str, age: float = 0) -> tuple[Question, bool] | None:
    """Return the open question of a conversation, and whether it is `age` seconds old.

    It stays so while `work` has the conversation row locked.
    """
    row = work.execute(_OF, conversation_id=conversation_id, age=age).first()
    return (_question(row), bool(row.aged)) if row else None


def name(work: Work, conversation_id: str, wait_id: str | None) -> None:
    """Note which question a conversation has, None for none. Its row must be locked by `work`."""
    work.execute(_NAME, conversation_id=conversation_id, wait_id=wait_id)


def _question(row: Row) -> Question:
    return Question(
        row.id,
        row.job_id,
        row.session_id,
        row.conversation_id,
        row.user_id,
        row.agent,
        row.payload["questions"],
        row.created,
        row.expires_at,
        row.outcome,
        row.aside,
    )
