"""SQL of messages that were changed or deleted at their platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from habakkuk.conversations.types import ChatState
from habakkuk.db.engine import Database, Work

_PLACE = text("""
    SELECT conversation_id FROM chat_messages
    WHERE account = :account AND remote_id = :remote_id AND author = 'user'
      AND kind IN ('message', 'steer')
""")
_SENT = text("""
    SELECT m.seq, m.body, m.state, m.turn_id, m.user_id, t.session_id, m.data,
           coalesce(m.data ->> 'corrected', m.body) AS current, m.data ? 'removed' AS removed
    FROM chat_messages m LEFT JOIN turns t ON t.id = m.turn_id
    WHERE m.account = :account AND m.remote_id = :remote_id
      AND m.conversation_id = :conversation_id
""")
_NOTE = text("""
    UPDATE chat_messages
    SET data = data || jsonb_build_object('corrected', CAST(:body AS text))
    WHERE conversation_id = :conversation_id AND seq = :seq
""")
_NOTE_REMOVED = text("""
    UPDATE chat_messages SET data = data || '{"removed": true}'
    WHERE conversation_id = :conversation_id AND seq = :seq
""")
# Of several corrections of one message the last counts.
_KEEP = text("""
    UPDATE sessions SET corrections = coalesce(corrections, '{}')
        || jsonb_build_object(CAST(:seq AS text), CAST(:body AS text))
    WHERE id = :session_id
""")


@dataclass(frozen=True)
class Sent:
    """A message of a person as it stands; `current` is its text with the corrections so far.

    `removed`: it was deleted at its platform after it was taken.
    """

    seq: int
    body: str
    state: ChatState
    turn_id: str | None
    user_id: str | None
    session_id: str | None
    current: str
    data: Mapping[str, Any]
    removed: bool = False


def place(database: Database, account: str, remote_id: str) -> str | None:
    """Return the conversation that has a person's message of this id."""
    rows = database.run(_PLACE, account=account, remote_id=remote_id)
    return str(rows[0].conversation_id) if rows else None


def sent(work: Work, conversation_id: str, account: str, remote_id: str) -> Sent | None:
    """Return the message. The conversation row must be locked by `work`."""
    row = work.execute(
        _SENT, conversation_id=conversation_id, account=account, remote_id=remote_id
    ).first()
    return Sent(**row._asdict() | {"state": ChatState(row.state)}) if row else None


def note(work: Work, conversation_id: str, seq: int, body: str) -> None:
    """Keep the corrected text with a message that was taken. Under the lock."""
    work.execute(_NOTE, conversation_id=conversation_id, seq=seq, body=body)


def note_removed(work: Work, conversation_id: str, seq: int) -> None:
    """Keep with a message that was taken that its writer deleted it. Under the lock."""
    work.execute(_NOTE_REMOVED, conversation_id=conversation_id, seq=seq)


def keep(work: Work, session_id: str, seq: int, body: str) -> None:
    """Tell the model of a correction with the session's next turn. Under the lock."""
    work.execute(_KEEP, session_id=session_id, seq=seq, body=body)
