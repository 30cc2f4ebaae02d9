"""Turn rows: what outlives the job."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text

from habakkuk.conversations.types import Author, ChatKind, ChatMessage, ChatState, Outcome, Turn
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row

_COLUMNS = """
    id, session_id, conversation_id, user_id, agent, origin, reply_to, began, ended, outcome,
    reply_seq, created
"""
_GET = text(f"SELECT {_COLUMNS} FROM turns WHERE id = :id")
_GET_WITH_REPLY = text("""
    SELECT t.id, t.session_id, t.conversation_id, t.user_id, t.agent, t.origin, t.reply_to, t.began,
           t.ended, t.outcome, t.reply_seq, t.created, m.author, m.kind, m.body, m.data, m.state,
           m.turn_id, m.created AS said
    FROM turns t LEFT JOIN chat_messages m
      ON m.conversation_id = t.conversation_id AND m.seq = t.reply_seq
    WHERE t.id = :id
""")
# Only a turn whose job has not begun, and that nobody waits on, may take another message. One that
# was stopped while it fetched files, and came back to be ended, would withdraw that, too. The state
# is asked so that the index of all pending jobs does not serve (jobs.store.fragments).
_JOINABLE = text("""
    SELECT t.id FROM turns t JOIN jobs j ON j.id = t.id
    WHERE t.conversation_id = :conversation_id AND t.session_id = :session_id AND t.joinable
      AND t.began IS NULL AND t.user_id IS NOT DISTINCT FROM :user_id
      AND j.state || '' = 'pending' AND NOT j.cancel_requested
    ORDER BY t.created DESC LIMIT 1
""")
_END = text("""
    UPDATE turns SET ended = now(), outcome = :outcome, reply_seq = :reply_seq
    WHERE id = :id AND ended IS NULL
""")
_TAINT = text("UPDATE turns SET tainted = true WHERE id = :id AND NOT tainted")
_TAINTED = text("SELECT tainted FROM turns WHERE id = :id")
# The time that a turn may take counts anew.
_REOPEN = text("""
    UPDATE turns SET ended = NULL, outcome = NULL, reply_seq = NULL,
           began = CASE WHEN began IS NULL THEN NULL ELSE now() END
    WHERE id = :id
""")
_ANSWERS = text("""
    SELECT 1 FROM turns t JOIN jobs j ON j.id = t.id
    WHERE t.session_id = :session_id AND t.ended IS NULL
      AND j.state IN ('pending', 'running', 'waiting') LIMIT 1
""")
_OPEN = text("""
    SELECT t.id, t.session_id, t.user_id, j.state, j.cancel_requested AS stopping
    FROM turns t JOIN jobs j ON j.id = t.id
    WHERE t.conversation_id = :conversation_id AND t.ended IS NULL
      AND j.state IN ('pending', 'running', 'waiting')
    ORDER BY j.seq
""")
_RUNS_FOR = text("""
    SELECT t.id FROM jobs j JOIN turns t ON t.id = j.id
    WHERE j.state = 'running' AND t.agent = :agent AND t.ended IS NULL LIMIT 1
""")


@dataclass(frozen=True)
class OpenTurn:
    """A turn that has not ended; `state` is its job's. `stopping`: it was told to end."""

    id: str
    session_id: str
    user_id: str | None
    state: str
    stopping: bool = False


def get(database: Database, turn_id: str) -> Turn | None:
    """Return a turn."""
    rows = database.run(_GET, id=turn_id)
    return turn_of(rows[0]) if rows else None


def get_with_reply(database: Database, turn_id: str) -> tuple[Turn, ChatMessage | None] | None:
    """Return a turn and the chat row that ended it, None while there is none."""
    rows = database.run(_GET_WITH_REPLY, id=turn_id)
    if not rows:
        return None
    row = rows[0]
    turn = turn_of(row)
    if row.author is None:
        return turn, None
    reply = ChatMessage(
        row.conversation_id,
        row.reply_seq,
        Author(row.author),
        ChatKind(row.kind),
        row.body,
        row.data,
        ChatState(row.state),
        row.turn_id,
        row.said,
    )
    return turn, reply


def get_in(work: Work, turn_id: str) -> Turn | None:
    """Return a turn inside a transaction."""
    row = work.execute(_GET, id=turn_id).first()
    return turn_of(row) if row else None


def reopen(work: Work, turn_id: str) -> None:
    """Take back the end of a turn, so that its job can run again."""
    work.execute(_REOPEN, id=turn_id)


def joinable(work: Work, conversation_id: str, session_id: str, user_id: str | None) -> str | None:
    """Return the turn that another message of this person may still join."""
    row = work.execute(
        _JOINABLE, conversation_id=conversation_id, session_id=session_id, user_id=user_id
    ).first()
    return row.id if row else None


def end(work: Work, turn_id: str, outcome: Outcome, reply_seq: int | None) -> None:
    """Note how the turn ended; the first end stands."""
    work.execute(_END, id=turn_id, outcome=outcome, reply_seq=reply_seq)


def taint(work: Work, turn_id: str) -> None:
    """Note that the turn has read content from outside."""
    work.execute(_TAINT, id=turn_id)


def is_tainted(database: Database, turn_id: str) -> bool:
    """Return whether the turn has read content from outside."""
    rows = database.run(_TAINTED, id=turn_id)
    return bool(rows and rows[0].tainted)


def answers(database: Database, session_id: str) -> bool:
    """Return whether any turn of a session has not ended."""
    return bool(database.run(_ANSWERS, session_id=session_id))


def open_in(work: Work, conversation_id: str) -> list[OpenTurn]:
    """Return the turns of a conversation that have not ended, of all its sessions, in order.

    /new leaves running turns behind.
    """
    rows = work.execute(_OPEN, conversation_id=conversation_id)
    return [OpenTurn(**row._asdict()) for row in rows]


def runs_for(work: Work, agent: str) -> bool:
    """Return whether any turn of an agent is running."""
    return work.execute(_RUNS_FOR, agent=agent).first() is not None


def turn_of(row: Row) -> Turn:
    """Return the turn of a row that has its columns, and maybe others."""
    return Turn(
        row.id,
        row.session_id,
        row.conversation_id,
        row.user_id,
        row.agent,
        row.origin,
        row.reply_to,
        row.began,
        row.ended,
        Outcome(row.outcome) if row.outcome else None,
        row.reply_seq,
        row.created,
    )
