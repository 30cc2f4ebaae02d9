"""SQL of approvals: the open questions, and what was allowed for a session."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from habakkuk.agent.approval.types import APPROVAL, Approval
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row

_COLUMNS = """
    w.id, w.job_id, w.payload, w.created, w.expires_at, w.outcome, t.session_id,
    t.conversation_id, t.user_id, t.agent
"""
_OPEN = text(f"""
    SELECT {_COLUMNS} FROM waits w JOIN turns t ON t.id = w.job_id
    WHERE w.kind = :kind AND w.resolved_at IS NULL
      AND (w.expires_at IS NULL OR w.expires_at >= clock_timestamp())
      AND (CAST(:user_id AS text) IS NULL OR t.user_id = :user_id)
      AND (CAST(:conversation_id AS text) IS NULL OR t.conversation_id = :conversation_id)
      AND w.created <= clock_timestamp() - :age * interval '1 s'
    ORDER BY w.created, w.id
""")
_ONE = text(f"""
    SELECT {_COLUMNS} FROM waits w JOIN turns t ON t.id = w.job_id
    WHERE w.kind = :kind AND w.id = :id
""")
# Every row that puts a question names it, the first and those that put it again.
_TALKED_PAST = text("""
    SELECT 1 FROM chat_messages a
    WHERE a.conversation_id = :conversation_id AND a.author = 'agent' AND a.kind = 'message'
      AND a.seq > (SELECT max(p.seq) FROM chat_messages p
                   WHERE p.conversation_id = :conversation_id AND p.author = 'system'
                     AND :id IN (p.data ->> 'approval', p.data ->> 'approval_again'))
    LIMIT 1
""")
_GRANT = text("""
    INSERT INTO grants (session_id, fingerprint, user_id)
    VALUES (:session_id, :fingerprint, :user_id)
    ON CONFLICT DO NOTHING
""")
_GRANTED = text("""
    SELECT fingerprint FROM grants
    WHERE session_id = :session_id AND fingerprint = ANY(:fingerprints)
""")


def open_approvals(
    database: Database, user_id: str | None = None, conversation_id: str | None = None
) -> Sequence[Approval]:
    """Return the open questions of a person's turns (of everybody for None), oldest first."""
    rows = database.run(
        _OPEN, kind=APPROVAL, user_id=user_id, conversation_id=conversation_id, age=0
    )
    return [_approval(row) for row in rows]


def open_in(work: Work, conversation_id: str, age: float) -> Sequence[Approval]:
    """Return the questions of a conversation that have been open for `age` seconds."""
    rows = work.execute(
        _OPEN, kind=APPROVAL, user_id=None, conversation_id=conversation_id, age=age
    )
    return [_approval(row) for row in rows]


def talked_past(work: Work, approval: Approval) -> bool:
    """Whether an agent has said something in the conversation since a question was last put."""
    place = {"conversation_id": approval.conversation_id, "id": approval.id}
    return work.execute(_TALKED_PAST, **place).first() is not None


def get(database: Database, approval_id: str) -> Approval | None:
    """Return one question, open or answered."""
    rows = database.run(_ONE, kind=APPROVAL, id=approval_id)
    return _approval(rows[0]) if rows else None


def grant(work: Work, session_id: str, fingerprint: str, user_id: str) -> None:
    """Allow the very same call for the rest of a session."""
    work.execute(_GRANT, session_id=session_id, fingerprint=fingerprint, user_id=user_id)


def granted(database: Database, session_id: str, fingerprints: Sequence[str]) -> set[str]:
    """Return which of these the session is allowed."""
    if not fingerprints:
        return set()
    rows = database.run(_GRANTED, session_id=session_id, fingerprints=list(fingerprints))
    return {row.fingerprint for row in rows}


def _approval(row: Row) -> Approval:
    payload = row.payload
    return Approval(
        id=row.id,
        turn_id=row.job_id,
        session_id=row.session_id,
        conversation_id=row.conversation_id,
        user_id=row.user_id,
        agent=row.agent,
        tool=payload["tool"],
        input=payload["input"],
        folder=payload["folder"],
        why=payload["why"],
        may_repeat=payload["may_repeat"],
        fingerprint=payload["fingerprint"],
        created=row.created,
        expires_at=row.expires_at,
        outcome=row.outcome,
    )
