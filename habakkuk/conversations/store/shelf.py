"""A person's conversations as a list: find, name, put away, remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from habakkuk.conversations.store.steps import PAUSED
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row

# Search looks at this many conversations, the newest, so that it ends in time whatever is there.
_SEARCHED = 2000
_EXCERPT = 160
_LEAD = 40

# One set by hand, else how the first message begins: it stays when a fresh session begins.
_TITLE = """
    coalesce(c.title, (
        SELECT left(m.body, 200) FROM chat_messages m
        WHERE m.conversation_id = c.id AND m.author = 'user' AND m.kind = 'message'
          AND m.state <> 'withdrawn'
        ORDER BY m.seq LIMIT 1))
"""
_COLUMNS = f"""
    c.id, c.chat, c.agent, c.session_id, c.archived, c.next_seq - 1 AS last_seq, c.updated,
    c.title IS NOT NULL AS named, {_TITLE} AS title,
    (SELECT CASE WHEN {PAUSED} THEN 'paused' ELSE j.state END FROM jobs j
     WHERE j.serial_key = 's:' || c.session_id AND j.state IN ('pending', 'running', 'waiting')
     ORDER BY j.state DESC LIMIT 1) AS busy
"""
_OWN = "c.channel = :channel AND c.user_id = :user_id"
_LIST = text(f"""
    SELECT {_COLUMNS}, CAST(NULL AS bigint) AS hit_seq, NULL AS hit
    FROM conversations c
    WHERE {_OWN} AND c.archived = :archived
      AND (CAST(:before AS timestamptz) IS NULL OR c.updated < :before)
    ORDER BY c.updated DESC, c.id LIMIT :limit
""")
_COUNT = text(f"SELECT count(*) AS n FROM conversations c WHERE {_OWN} AND c.archived = :archived")
_ONE = text(f"""
    SELECT {_COLUMNS}, CAST(NULL AS bigint) AS hit_seq, NULL AS hit
    FROM conversations c WHERE c.id = :id
""")
# Characters are compared one by one: words of Chinese, Japanese and Korean have no spaces.
_SEARCH = text(f"""
    SELECT * FROM (
        SELECT {_COLUMNS}, found.seq AS hit_seq, found.hit
        FROM (SELECT * FROM conversations c WHERE {_OWN} ORDER BY c.updated DESC LIMIT {_SEARCHED}
             ) c
        LEFT JOIN LATERAL (
            SELECT m.seq, substr(m.body, greatest(1, position(lower(:words) IN lower(m.body))
                                                     - {_LEAD}), {_EXCERPT}) AS hit
            FROM chat_messages m
            WHERE m.conversation_id = c.id AND m.kind <> 'command' AND m.state <> 'withdrawn'
              AND position(lower(:words) IN lower(m.body)) > 0
            ORDER BY m.seq DESC LIMIT 1
        ) found ON true
    ) one
    WHERE hit_seq IS NOT NULL OR position(lower(:words) IN lower(title)) > 0
    ORDER BY updated DESC, id LIMIT :limit
""")
_TITLE_OF = text(f"SELECT {_TITLE} AS title FROM conversations c WHERE c.id = :id")
_NAME = text("UPDATE conversations SET title = :title WHERE id = :id")
_NAME_SESSION = text("""
    UPDATE sessions SET title = :title,
           title_source = CASE WHEN CAST(:title AS text) IS NULL THEN NULL ELSE 'user' END
    WHERE id = :session_id
""")
_ARCHIVE = text("UPDATE conversations SET archived = :archived WHERE id = :id")
# UPDATE, not NO KEY UPDATE: nothing may begin to refer to a row that is about to go.
_LOCK = text("SELECT id FROM conversations WHERE id = :id FOR UPDATE")
_ALIVE = text("""
    SELECT count(*) AS n FROM turns t JOIN jobs j ON j.id = t.id
    WHERE t.conversation_id = :id AND j.state IN ('pending', 'running', 'waiting')
""")
_REMOVE_JOBS = text("""
    DELETE FROM jobs WHERE id IN (SELECT t.id FROM turns t WHERE t.conversation_id = :id)
""")
_REMOVE = text("DELETE FROM conversations WHERE id = :id")


@dataclass(frozen=True)
class Hit:
    """A message that was found, and the words around the place."""

    seq: int
    excerpt: str


@dataclass(frozen=True)
class Shelved:
    """One conversation of a list.

    `title` is None before the first message, `named` says that it was set by hand. `busy` is None
    when nothing is being answered, else pending, running, waiting (for a person) or paused.
    """

    id: str
    chat: str
    agent: str
    session_id: str
    title: str | None
    named: bool
    archived: bool
    busy: str | None
    last_seq: int
    updated: datetime
    hit: Hit | None


@dataclass(frozen=True)
class Page:
    """Which part of a list: at most `limit`, older than `before`."""

    archived: bool = False
    limit: int = 50
    before: datetime | None = None


def of_user(database: Database, channel: str, user_id: str, page: Page) -> list[Shelved]:
    """Return a person's conversations on a channel, the newest first."""
    rows = database.run(
        _LIST,
        channel=channel,
        user_id=user_id,
        archived=page.archived,
        limit=page.limit,
        before=page.before,
    )
    return [_shelved(row) for row in rows]


def count(database: Database, channel: str, user_id: str, *, archived: bool) -> int:
    """Return how many conversations a person has on a channel."""
    rows = database.run(_COUNT, channel=channel, user_id=user_id, archived=archived)
    return int(rows[0].n)


def one(database: Database, conversation_id: str) -> Shelved | None:
    """Return one conversation."""
    rows = database.run(_ONE, id=conversation_id)
    return _shelved(rows[0]) if rows else None


def search(
    database: Database, channel: str, user_id: str, words: str, limit: int
) -> Sequence[Shelved]:
    """Return the conversations whose title or messages hold these words, archived ones too."""
    rows = database.run(_SEARCH, channel=channel, user_id=user_id, words=words, limit=limit)
    return [_shelved(row) for row in rows]


def name(work: Work, conversation_id: str, session_id: str, title: str | None) -> None:
    """Set the title by hand; None goes back to the automatic one."""
    work.execute(_NAME, id=conversation_id, title=title)
    work.execute(_NAME_SESSION, session_id=session_id, title=title)


def title_in(work: Work, conversation_id: str) -> str | None:
    """Return the title, by hand or automatic; None before the first message."""
    row = work.execute(_TITLE_OF, id=conversation_id).first()
    return str(row.title) if row and row.title is not None else None


def archive(work: Work, conversation_id: str, *, archived: bool) -> None:
    """Put a conversation away, or take it back."""
    work.execute(_ARCHIVE, id=conversation_id, archived=archived)


def remove(work: Work, conversation_id: str) -> bool:
    """Remove a conversation with all that belongs to it; False while something of it is alive."""
    work.execute(_LOCK, id=conversation_id)
    if work.execute(_ALIVE, id=conversation_id)[0][0]:
        return False
    work.execute(_REMOVE_JOBS, id=conversation_id)
    work.execute(_REMOVE, id=conversation_id)
    return True


def _shelved(row: Row) -> Shelved:
    hit = Hit(row.hit_seq, row.hit) if row.hit_seq is not None else None
    return Shelved(
        row.id,
        row.chat,
        row.agent,
        row.session_id,
        row.title,
        row.named,
        row.archived,
        row.busy,
        row.last_seq,
        row.updated,
        hit,
    )
