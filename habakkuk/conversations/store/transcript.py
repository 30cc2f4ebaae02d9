"""The append-only transcript. Callers prove their lease first (JobContext.guard)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.conversations.types import StoredMessage
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


def last(work: Work, session_id: str) -> StoredMessage | None:
    """Return the newest message."""
    row = work.execute(_LAST, session_id=session_id).first()
    return _stored(row) if row else None


def count(work: Work, session_id: str) -> int:
    """Return how many messages the transcript has."""
    return int(work.execute(_COUNT, session_id=session_id)[0][0])


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
