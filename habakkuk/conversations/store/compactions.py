"""The records of compactions: a summary stands for the messages before a cut."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.conversations.types import Compaction
from habakkuk.db.engine import Database, Work

_ADD = text("""
    INSERT INTO compactions (session_id, seq, first_kept, request_seq, result_limit,
                             transcript_length, summary, job_id)
    SELECT :session_id,
           (SELECT coalesce(max(seq), 0) + 1 FROM compactions WHERE session_id = :session_id),
           :first_kept, :request_seq, :result_limit, CAST(:length AS bigint), :summary, :job_id
    WHERE (SELECT max(seq) FROM messages WHERE session_id = :session_id) = :length
    RETURNING seq
""")
_MADE_BY = text("""
    SELECT 1 FROM compactions WHERE session_id = :session_id AND job_id = :job_id LIMIT 1
""")
_ALL = text("""
    SELECT seq, first_kept, request_seq, result_limit, transcript_length, summary, created
    FROM compactions WHERE session_id = :session_id ORDER BY seq
""")


def add(work: Work, session_id: str, job_id: str, record: Compaction) -> int | None:
    """Append a record, after a guard, and return its number.

    None: the transcript has moved since it was made, and nothing is written.
    """
    row = work.execute(
        _ADD,
        session_id=session_id,
        job_id=job_id,
        first_kept=record.first_kept,
        request_seq=record.request_seq,
        result_limit=record.result_limit,
        length=record.transcript_length,
        summary=record.summary,
    ).first()
    return None if row is None else int(row.seq)


def of_session(database: Database, session_id: str) -> list[Compaction]:
    """Return every record of a session, oldest first."""
    return [
        Compaction(
            row.first_kept,
            row.transcript_length,
            row.summary,
            row.request_seq,
            row.result_limit,
            row.created,
        )
        for row in database.run(_ALL, session_id=session_id)
    ]


def made_by(database: Database, session_id: str, job_id: str) -> bool:
    """Tell whether a job has written a record of a session."""
    return bool(database.run(_MADE_BY, session_id=session_id, job_id=job_id))
