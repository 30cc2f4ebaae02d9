"""The append-only transcript. Callers prove their lease first (JobContext.guard)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.conversations.types import Compaction, StoredMessage, Transcript
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row
from habakkuk.llm.types import Message, Role, blocks_from_text, blocks_to_json

_APPEND = text("""
    INSERT INTO messages (session_id, seq, job_id, step, role, blocks, meta)
    SELECT :session_id, coalesce(max(seq), 0) + 1, :job_id, :step, :role, CAST(:blocks AS jsonb),
           CAST(:meta AS jsonb)
    FROM messages WHERE session_id = :session_id
""")
_LOAD = text("""
    SELECT seq, job_id, step, role, CAST(blocks AS text) AS blocks FROM messages
    WHERE session_id = :session_id ORDER BY seq
""")
# The record stands in the row of the first message that it keeps.
_FROM_COMPACTION = text("""
    WITH latest AS MATERIALIZED (
        SELECT seq AS number, first_kept, request_seq, result_limit, transcript_length, summary,
               created, job_id AS made_by
        FROM compactions WHERE session_id = :session_id ORDER BY seq DESC LIMIT 1
    ), shown AS (
        SELECT m.* FROM messages m
        WHERE m.session_id = :session_id AND m.seq >= coalesce((SELECT first_kept FROM latest), 0)
        UNION ALL
        SELECT m.* FROM messages m
        WHERE m.session_id = :session_id AND m.seq = (SELECT request_seq FROM latest)
    )
    SELECT s.seq, s.job_id, s.step, s.role, CAST(s.blocks AS text) AS blocks,
           CAST(s.meta ->> 'tokens' AS int) AS tokens, s.meta -> 'notices' AS notices,
           l.first_kept, l.request_seq, l.result_limit, l.transcript_length, l.summary, l.created,
           l.number, l.made_by
    FROM shown s LEFT JOIN latest l ON l.first_kept = s.seq ORDER BY s.seq
""")
_SINCE = text("""
    SELECT seq, job_id, step, role, CAST(blocks AS text) AS blocks,
           CAST(meta ->> 'tokens' AS int) AS tokens, meta -> 'notices' AS notices
    FROM messages WHERE session_id = :session_id AND seq > :seq ORDER BY seq
""")
_ASKED = text("""
    SELECT count(*) AS n FROM messages
    WHERE session_id = :session_id AND job_id = :job_id AND role = 'assistant' AND step > :step
""")
_LAST = text("""
    SELECT seq, job_id, step, role, CAST(blocks AS text) AS blocks FROM messages
    WHERE session_id = :session_id ORDER BY seq DESC LIMIT 1
""")
_COUNT = text("SELECT count(*) AS n FROM messages WHERE session_id = :session_id")


def append(
    work: Work,
    session_id: str,
    job_id: str,
    step: int,
    message: Message,
    meta: dict[str, Any] | None = None,
) -> None:
    """Append one message. A step that is there already breaks a unique key."""
    work.execute(
        _APPEND,
        session_id=session_id,
        job_id=job_id,
        step=step,
        role=message.role,
        blocks=orjson.dumps(blocks_to_json(message.blocks)).decode(),
        meta=orjson.dumps(meta or {}).decode(),
    )


def load(database: Database, session_id: str) -> Sequence[StoredMessage]:
    """Return the whole transcript, oldest first."""
    return [_stored(row) for row in database.run(_LOAD, session_id=session_id)]


def from_compaction(database: Database, session_id: str) -> Transcript:
    """Return what a model sees: all of it, or what the latest compaction left."""
    rows = database.run(_FROM_COMPACTION, session_id=session_id)
    stored = [_noted(row) for row in rows]
    found = next((row for row in rows if row.first_kept is not None), None)
    if found is None:
        return Transcript(stored)
    record = Compaction(
        found.first_kept,
        found.transcript_length,
        found.summary,
        found.request_seq,
        found.result_limit,
        found.created,
        found.made_by,
    )
    return cut(stored, record, found.number)


def since(database: Database, session_id: str, seq: int) -> list[StoredMessage]:
    """Return the messages after `seq`, oldest first."""
    rows = database.run(_SINCE, session_id=session_id, seq=seq)
    return [_noted(row) for row in rows]


def cut(stored: Sequence[StoredMessage], record: Compaction, number: int) -> Transcript:
    """Return what a record, which has this number, leaves of messages that hold what it keeps."""
    kept = [item for item in stored if item.seq >= record.first_kept]
    request = next((item for item in stored if item.seq == record.request_seq), None)
    return Transcript(kept, record, request, number)


def asked(database: Database, session_id: str, job_id: str, step: int) -> int:
    """Return how often a turn's model has answered after a step, compacted or not."""
    rows = database.run(_ASKED, session_id=session_id, job_id=job_id, step=step)
    return int(rows[0].n)


def last(work: Work, session_id: str) -> StoredMessage | None:
    """Return the newest message."""
    row = work.execute(_LAST, session_id=session_id).first()
    return _stored(row) if row else None


def count(work: Work, session_id: str) -> int:
    """Return how many messages the transcript has."""
    return int(work.execute(_COUNT, session_id=session_id)[0][0])


def _noted(row: Row) -> StoredMessage:
    return replace(_stored(row), tokens=row.tokens, notices=tuple(row.notices or ()))


def _stored(row: Row) -> StoredMessage:
    read = _remembered if len(row.blocks) <= _REMEMBERED_LENGTH else _message
    return StoredMessage(row.seq, row.job_id, row.step, read(row.role, row.blocks))


def _message(role: str, blocks: str) -> Message:
    return Message(Role(role), blocks_from_text(blocks))


# A turn reads its whole session, of which all but the end was read by the turn before: a message
# of the same words is the same message, and to check 400 of them anew takes 3 ms.
# In the worst case, all of them in scripts beyond the first, 25 MB; some 5 MB as a rule.
_REMEMBERED_LENGTH = 1500
_remembered = lru_cache(maxsize=2048)(_message)
