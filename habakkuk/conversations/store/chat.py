"""Chat messages: written under the conversation's lock, read by sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.conversations.files import AWAITED, UNPLACED
from habakkuk.conversations.store import outgoing
from habakkuk.conversations.types import Author, ChatKind, ChatMessage, ChatState, NewChatMessage
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row

_COLUMNS = "conversation_id, seq, author, kind, body, data, state, turn_id, created"
# The counter moves only when the row went in, so a repeated message leaves no gap.
_ADDED = """
    WITH added AS (
        INSERT INTO chat_messages (conversation_id, seq, author, kind, user_id, account, remote_id,
                                   body, data, state, turn_id)
        SELECT c.id, c.next_seq, :author, :kind, :user_id, :account, :remote_id, :body,
               CAST(:data AS jsonb), :state, :turn_id
        FROM conversations c WHERE c.id = :conversation_id
        ON CONFLICT (account, remote_id) WHERE remote_id IS NOT NULL DO NOTHING
        RETURNING conversation_id, seq, turn_id
    ), counted AS (
        UPDATE conversations SET next_seq = next_seq + 1, updated = now()
        WHERE id = :conversation_id AND EXISTS (SELECT 1 FROM added)
    )
"""
_ADD = text(f"{_ADDED} SELECT seq FROM added")
_ADD_AND_SEND = text(
    _ADDED
    + outgoing.DELIVERY.format(said="SELECT * FROM added")
    + f"SELECT seq, {outgoing.WAKE} FROM added"
)
_REQUEUE = text("""
    UPDATE chat_messages SET state = 'queued'
    WHERE conversation_id = :conversation_id AND turn_id = :turn_id AND state = 'taken'
""")
# What became of the message that came under an id.
EARLIER = """
    SELECT m.conversation_id, coalesce(a.seq, m.seq) AS seq, m.turn_id,
           coalesce(t.session_id, c.session_id) AS session_id, a.body AS reply
    FROM chat_messages m
    JOIN conversations c ON c.id = m.conversation_id
    LEFT JOIN turns t ON t.id = m.turn_id
    LEFT JOIN LATERAL (
        SELECT n.seq, n.body FROM chat_messages n
        WHERE m.kind = 'command' AND n.conversation_id = m.conversation_id AND n.seq > m.seq
          AND n.kind = 'command' AND n.author = 'system'
        ORDER BY n.seq LIMIT 1
    ) a ON true
    WHERE m.account = :account AND m.remote_id = :remote_id
"""
_BY_REMOTE = text(EARLIER)
_SAID_TO = text("""
    SELECT body FROM chat_messages
    WHERE conversation_id = :conversation_id AND turn_id = :turn_id AND author = 'user'
    ORDER BY seq LIMIT 1
""")
_TAKE = text(f"""
    WITH taken AS (
        UPDATE chat_messages SET state = 'taken'
        WHERE conversation_id = :conversation_id AND turn_id = :turn_id AND state = 'queued'
        RETURNING {_COLUMNS}
    ) SELECT * FROM taken ORDER BY seq
""")
_WITHDRAW = text("""
    UPDATE chat_messages SET state = 'withdrawn'
    WHERE conversation_id = :conversation_id AND turn_id = :turn_id AND state = 'queued'
""")
_WITHDRAW_ONE = text("""
    UPDATE chat_messages SET state = 'withdrawn'
    WHERE conversation_id = :conversation_id AND seq = :seq AND state = 'queued'
""")
_REPLACE_BODY = text("""
    UPDATE chat_messages SET body = :body
    WHERE conversation_id = :conversation_id AND seq = :seq AND state = 'queued'
""")
_ATTACH = text(f"""
    UPDATE chat_messages SET data = data - '{AWAITED}' - '{UNPLACED}' || CAST(:change AS jsonb)
    WHERE conversation_id = :conversation_id AND seq = :seq AND state = 'queued'
      AND (data ? '{AWAITED}' OR data ? '{UNPLACED}')
    RETURNING seq
""")
# As it reads by now: its writer may have corrected it since.
_LAST_SAID = text("""
    SELECT conversation_id, seq, author, kind, coalesce(data ->> 'corrected', body) AS body, data,
           state, turn_id, created
    FROM chat_messages
    WHERE conversation_id = :conversation_id AND author = 'user' AND kind = 'message'
      AND (CAST(:user_id AS text) IS NULL OR user_id = :user_id)
      AND state <> 'withdrawn' AND NOT data ? 'removed' ORDER BY seq DESC LIMIT 1
""")
# The newest are enough: what waits stands at the end.
_UNTAKEN = text(f"""
    SELECT * FROM (
        SELECT {_COLUMNS} FROM chat_messages
        WHERE conversation_id = :conversation_id ORDER BY seq DESC LIMIT 200
    ) newest WHERE state IN ('queued', 'withdrawn') ORDER BY seq
""")
_AFTER = text(f"""
    SELECT {_COLUMNS} FROM chat_messages
    WHERE conversation_id = :conversation_id AND seq > :after ORDER BY seq LIMIT :limit
""")
_LAST = text(f"""
    SELECT * FROM (
        SELECT {_COLUMNS} FROM chat_messages
        WHERE conversation_id = :conversation_id AND seq < :before ORDER BY seq DESC LIMIT :limit
    ) newest ORDER BY seq
""")
_ONE = text(f"""
    SELECT {_COLUMNS} FROM chat_messages WHERE conversation_id = :conversation_id AND seq = :seq
""")


def add(work: Work, conversation_id: str, message: NewChatMessage) -> int | None:
    """Write one message and return its seq; None when its remote id is known already.

    With a target it becomes a delivery in the same statement.

    The conversation row must be locked by `work`.
    """
    sends = message.target is not None
    row = work.execute(
        _ADD_AND_SEND if sends else _ADD,
        conversation_id=conversation_id,
        author=message.author,
        kind=message.kind,
        user_id=message.user_id,
        account=message.account,
        remote_id=message.remote_id,
        body=message.body,
        data=orjson.dumps(message.data).decode(),
        state=message.state,
        turn_id=message.turn_id,
        **(outgoing.parameters(message) if sends else {}),
    ).first()
    return row.seq if row else None


@dataclass(frozen=True)
class Earlier:
    """What became of a message that came before.

    Of a command `reply` is the answer, the next such row after it, and `seq` the answer's.
    """

    conversation_id: str
    seq: int
    turn_id: str | None
    session_id: str
    reply: str | None


def by_remote_id(work: Work, account: str, remote_id: str) -> Earlier | None:
    """Return what became of the message that came under this id."""
    row = work.execute(_BY_REMOTE, account=account, remote_id=remote_id).first()
    return Earlier(**row._asdict()) if row else None


def take(work: Work, conversation_id: str, turn_id: str) -> Sequence[ChatMessage]:
    """Mark the queued messages of a turn as taken and return them in order."""
    rows = work.execute(_TAKE, conversation_id=conversation_id, turn_id=turn_id)
    return [_message(row) for row in rows]


def requeue(work: Work, conversation_id: str, turn_id: str) -> None:
    """Queue again what a turn that never began was given up with."""
    work.execute(_REQUEUE, conversation_id=conversation_id, turn_id=turn_id)


def withdraw(work: Work, conversation_id: str, turn_id: str) -> None:
    """Withdraw what a turn that never began would have taken."""
    work.execute(_WITHDRAW, conversation_id=conversation_id, turn_id=turn_id)


def withdraw_one(work: Work, conversation_id: str, seq: int) -> None:
    """Withdraw one queued message. The conversation row must be locked by `work`."""
    work.execute(_WITHDRAW_ONE, conversation_id=conversation_id, seq=seq)


def replace_body(work: Work, conversation_id: str, seq: int, body: str) -> None:
    """Replace the text of one queued message. The conversation row must be locked by `work`."""
    work.execute(_REPLACE_BODY, conversation_id=conversation_id, seq=seq, body=body)


def attach(work: Work, conversation_id: str, seq: int, change: Mapping[str, Any]) -> bool:
    """Put what was fetched or placed with a queued message that awaits it; False if none does.

    `change` are keys of its data. The conversation row must be locked by `work`.
    """
    written = orjson.dumps(dict(change)).decode()
    row = work.execute(_ATTACH, conversation_id=conversation_id, seq=seq, change=written).first()
    return row is not None


def said_to(database: Database, conversation_id: str, turn_id: str) -> str:
    """Return what a person first wrote to a turn; empty when nobody did."""
    rows = database.run(_SAID_TO, conversation_id=conversation_id, turn_id=turn_id)
    return rows[0].body if rows else ""


def last_said(database: Database, conversation_id: str) -> ChatMessage | None:
    """Return the newest message of anybody that still stands; commands are none."""
    rows = database.run(_LAST_SAID, conversation_id=conversation_id, user_id=None)
    return _message(rows[0]) if rows else None


def last_said_by(work: Work, conversation_id: str, user_id: str) -> ChatMessage | None:
    """Return the newest of one person, inside a transaction."""
    row = work.execute(_LAST_SAID, conversation_id=conversation_id, user_id=user_id).first()
    return _message(row) if row else None


def untaken(database: Database, conversation_id: str) -> list[ChatMessage]:
    """Return the queued and the withdrawn ones among the newest messages, oldest first."""
    return [_message(row) for row in database.run(_UNTAKEN, conversation_id=conversation_id)]


def after(database: Database, conversation_id: str, seq: int, limit: int) -> Sequence[ChatMessage]:
    """Return the messages after `seq`, oldest first."""
    rows = database.run(_AFTER, conversation_id=conversation_id, after=seq, limit=limit)
    return [_message(row) for row in rows]


def after_in(work: Work, conversation_id: str, seq: int, limit: int) -> Sequence[ChatMessage]:
    """Return the same inside a transaction."""
    rows = work.execute(_AFTER, conversation_id=conversation_id, after=seq, limit=limit)
    return [_message(row) for row in rows]


def last(database: Database, conversation_id: str, before: int, limit: int) -> list[ChatMessage]:
    """Return the newest messages before `before`, oldest first."""
    rows = database.run(_LAST, conversation_id=conversation_id, before=before, limit=limit)
    return [_message(row) for row in rows]


def one(database: Database, conversation_id: str, seq: int) -> ChatMessage | None:
    """Return one message."""
    rows = database.run(_ONE, conversation_id=conversation_id, seq=seq)
    return _message(rows[0]) if rows else None


def one_in(work: Work, conversation_id: str, seq: int) -> ChatMessage | None:
    """Return one message inside a transaction."""
    row = work.execute(_ONE, conversation_id=conversation_id, seq=seq).first()
    return _message(row) if row else None


def _message(row: Row) -> ChatMessage:
    return ChatMessage(
        row.conversation_id,
        row.seq,
        Author(row.author),
        ChatKind(row.kind),
        row.body,
        row.data,
        ChatState(row.state),
        row.turn_id,
        row.created,
    )
