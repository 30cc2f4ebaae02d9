"""Conversation and session rows. Locking the conversation row is what orders an address."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from habakkuk.conversations.types import Address, Conversation, Session
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row

_COLUMNS = "id, channel, account, chat, thread, user_id, agent, session_id, next_seq, title, chosen"
_SESSION = (
    "id, conversation_id, agent, user_id, system_prompt, title, created, updated, model, effort,"
    " personality"
)
# NO KEY UPDATE: inserts that reference the row take KEY SHARE on it and need not wait.
_LOCK = text(f"""
    SELECT {_COLUMNS} FROM conversations
    WHERE channel = :channel AND account = :account AND chat = :chat AND thread = :thread
    FOR NO KEY UPDATE
""")
_LOCK_ID = text(f"SELECT {_COLUMNS} FROM conversations WHERE id = :id FOR NO KEY UPDATE")
_GET = text(f"SELECT {_COLUMNS} FROM conversations WHERE id = :id")
_FIND = text(f"""
    SELECT {_COLUMNS} FROM conversations
    WHERE channel = :channel AND account = :account AND chat = :chat AND thread = :thread
""")
_CREATE = text("""
    INSERT INTO conversations (id, channel, account, chat, thread, user_id, agent, session_id)
    VALUES (:id, :channel, :account, :chat, :thread, :user_id, :agent, :session_id)
    ON CONFLICT DO NOTHING
""")
_CREATE_SESSION = text("""
    INSERT INTO sessions (id, conversation_id, agent, user_id)
    VALUES (:id, :conversation_id, :agent, :user_id) ON CONFLICT (id) DO NOTHING
""")
_POINT = text("""
    UPDATE conversations SET session_id = :session_id, agent = :agent, updated = now()
    WHERE id = :id
""")
_CHOOSE = text("""
    UPDATE conversations SET session_id = :session_id, agent = :agent, chosen = true,
           updated = now()
    WHERE id = :id
""")
_UNCHOOSE = text("UPDATE conversations SET chosen = false, updated = now() WHERE id = :id")
_GET_SESSION = text(f"SELECT {_SESSION} FROM sessions WHERE id = :id")
_HOLDS = text("SELECT 1 FROM sessions WHERE id = :id AND conversation_id = :conversation_id")
_LIST_SESSIONS = text(f"""
    SELECT {_SESSION} FROM sessions
    WHERE CAST(:user_id AS text) IS NULL OR user_id = :user_id
    ORDER BY updated DESC, id LIMIT :limit
""")


def lock(work: Work, address: Address) -> Conversation | None:
    """Lock and return the conversation at an address, None when there is none yet."""
    row = work.execute(_LOCK, **_address(address)).first()
    return _conversation(row) if row else None


def lock_by_id(work: Work, conversation_id: str) -> Conversation | None:
    """Lock and return a conversation."""
    row = work.execute(_LOCK_ID, id=conversation_id).first()
    return _conversation(row) if row else None


def get(database: Database, conversation_id: str) -> Conversation | None:
    """Return a conversation without locking it."""
    rows = database.run(_GET, id=conversation_id)
    return _conversation(rows[0]) if rows else None


def find(database: Database, address: Address) -> Conversation | None:
    """Return the conversation at an address without locking it."""
    rows = database.run(_FIND, **_address(address))
    return _conversation(rows[0]) if rows else None


def create(work: Work, conversation: Conversation) -> None:
    """Insert a conversation and its session; one that is there already stays as it is."""
    address = conversation.address
    inserted = work.execute(
        _CREATE,
        id=conversation.id,
        user_id=conversation.user_id,
        agent=conversation.agent,
        session_id=conversation.session_id,
        **_address(address),
    )
    if inserted.changed:
        add_session(work, conversation, conversation.session_id)


def add_session(work: Work, conversation: Conversation, session_id: str) -> None:
    """Insert a session of the conversation's agent and user."""
    work.execute(
        _CREATE_SESSION,
        id=session_id,
        conversation_id=conversation.id,
        agent=conversation.agent,
        user_id=conversation.user_id,
    )


def point(work: Work, conversation_id: str, session_id: str, agent: str) -> None:
    """Make a session the conversation's current one."""
    work.execute(_POINT, id=conversation_id, session_id=session_id, agent=agent)


def choose(work: Work, conversation: Conversation, session_id: str) -> None:
    """Give a conversation to its agent for good, with a session that is made when it is new."""
    add_session(work, conversation, session_id)
    work.execute(_CHOOSE, id=conversation.id, session_id=session_id, agent=conversation.agent)


def unchoose(work: Work, conversation_id: str) -> None:
    """Let the server's settings say again whose a conversation is."""
    work.execute(_UNCHOOSE, id=conversation_id)


def get_session(database: Database, session_id: str) -> Session | None:
    """Return a session."""
    rows = database.run(_GET_SESSION, id=session_id)
    return _session(rows[0]) if rows else None


def holds(work: Work, conversation_id: str, session_id: str) -> bool:
    """Tell whether a session is one of the conversation's."""
    return bool(work.execute(_HOLDS, id=session_id, conversation_id=conversation_id))


def list_sessions(database: Database, user_id: str | None, limit: int) -> Sequence[Session]:
    """Return the newest sessions of a user, of everybody for None."""
    rows = database.run(_LIST_SESSIONS, user_id=user_id, limit=limit)
    return [_session(row) for row in rows]


def _address(address: Address) -> dict[str, str]:
    return {
        "channel": address.channel,
        "account": address.account,
        "chat": address.chat,
        "thread": address.thread,
    }


def _conversation(row: Row) -> Conversation:
    address = Address(row.channel, row.account, row.chat, row.thread)
    return Conversation(
        row.id, address, row.user_id, row.agent, row.session_id, row.next_seq, row.title, row.chosen
    )


def _session(row: Row) -> Session:
    return Session(**row._asdict())
