"""What goes on over all conversations: turns that are open, and those that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from habakkuk.conversations.store.steps import PAUSED
from habakkuk.db.engine import Database

_MOST = 50
# What was asked says more than the conversation's title: several turns may wait in one.
_TITLE = """
    left(coalesce((
        SELECT m.body FROM chat_messages m WHERE m.turn_id = t.id AND m.author = 'user'
        ORDER BY m.seq LIMIT 1), c.title, s.title, c.chat), 80)
"""
_COLUMNS = f"""
    t.id, t.conversation_id, c.channel, c.chat, c.user_id, {_TITLE} AS title, t.agent, j.state,
    {PAUSED} AS paused, t.created, t.began, j.finished AS ended, j.error
"""
_FROM = """
    FROM jobs j JOIN turns t ON t.id = j.id
    JOIN conversations c ON c.id = t.conversation_id
    LEFT JOIN sessions s ON s.id = t.session_id
"""
_MINE = "(CAST(:user_id AS text) IS NULL OR t.user_id = :user_id)"
_OPEN = text(f"""
    SELECT {_COLUMNS} {_FROM}
    WHERE j.state IN ('pending', 'running', 'waiting') AND {_MINE} ORDER BY j.seq LIMIT {_MOST}
""")
_FAILED = text(f"""
    SELECT {_COLUMNS} {_FROM}
    WHERE j.state = 'failed' AND j.finished > now() - interval '1 day' AND {_MINE}
    ORDER BY j.finished DESC LIMIT {_MOST}
""")


@dataclass(frozen=True)
class Activity:
    """One turn as an overview shows it; `state` is its job's.

    `paused`: it waits because a person paused it.
    """

    id: str
    conversation_id: str
    channel: str
    chat: str
    user_id: str | None
    title: str
    agent: str
    state: str
    paused: bool
    created: datetime
    began: datetime | None
    ended: datetime | None
    error: str | None


def open_turns(database: Database, user_id: str | None) -> Sequence[Activity]:
    """Return the first turns that have not ended, of one person or of everybody for None."""
    return [Activity(**row._asdict()) for row in database.run(_OPEN, user_id=user_id)]


def failed_turns(database: Database, user_id: str | None) -> Sequence[Activity]:
    """Return the turns that failed within a day, the latest first."""
    return [Activity(**row._asdict()) for row in database.run(_FAILED, user_id=user_id)]
