"""What is looked up across conversations: a person's list, and what a turn used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from habakkuk.db.engine import Database
from habakkuk.llm.types import Usage

_OF_USER = text("""
    SELECT chat, thread, agent, session_id, title, next_seq - 1 AS last_seq, updated
    FROM conversations
    WHERE channel = :channel AND user_id = :user_id AND NOT archived
    ORDER BY updated DESC, id LIMIT :limit
""")
# The index is on the session.
_USAGE = text("""
    SELECT count(*) AS calls, coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
           coalesce(sum(cache_read), 0) AS cache_read, coalesce(sum(cache_write), 0) AS cache_write,
           coalesce(sum(reasoning), 0) AS reasoning
    FROM usage WHERE session_id = :session_id AND turn_id = :turn_id
""")


@dataclass(frozen=True)
class Listed:
    """One conversation in a list. `last_seq` is that of its newest message, 0 without one."""

    chat: str
    thread: str
    agent: str
    session_id: str
    title: str | None
    last_seq: int
    updated: datetime


def of_user(database: Database, channel: str, user_id: str, limit: int) -> Sequence[Listed]:
    """Return a person's conversations on a channel, the newest first."""
    rows = database.run(_OF_USER, channel=channel, user_id=user_id, limit=limit)
    return [Listed(**row._mapping) for row in rows]


def usage_of(database: Database, session_id: str, turn_id: str) -> Usage | None:
    """Return what all model calls of a turn used together, None when none was counted."""
    row = database.run(_USAGE, session_id=session_id, turn_id=turn_id)[0]
    if not row.calls:
        return None
    return Usage(
        int(row.input),
        int(row.output),
        int(row.cache_read),
        int(row.cache_write),
        int(row.reasoning),
    )
