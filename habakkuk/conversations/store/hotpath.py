"""The statements that every turn pays for: each does in one round trip what belongs together.

They write jobs too, since a turn and its job are one thing. Data-modifying CTEs depend on each
other through their rows, which gives the order of locks: conversation, then job, then the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.conversations.store import outgoing
from habakkuk.conversations.store.turns import turn_of
from habakkuk.conversations.types import NewChatMessage, Outcome, Said, StoredMessage, Turn
from habakkuk.db.engine import Call, Database, Work
from habakkuk.jobs.types import JobState
from habakkuk.llm.types import Message, blocks_to_json

# A statement of its own before the take: whoever waits for the row sees with the next statement
# what joined the turn meanwhile, which the snapshot of a waiting statement would not hold.
_LOCK = text("""
    SELECT 1 FROM conversations c JOIN turns t ON t.conversation_id = c.id WHERE t.id = :turn_id
    FOR NO KEY UPDATE OF c
""")
_TAKE = text("""
    WITH turn AS MATERIALIZED (
        SELECT t.id, t.session_id, t.conversation_id, t.user_id, t.agent, t.origin, t.reply_to,
               t.began, t.ended, t.outcome, t.reply_seq, t.created, s.system_prompt, s.model,
               s.effort, s.todo, s.corrections, s.personality
        FROM turns t JOIN sessions s ON s.id = t.session_id WHERE t.id = :turn_id
    ), held AS MATERIALIZED (
        SELECT j.id FROM jobs j JOIN turn ON turn.id = j.id
        WHERE j.fence = :fence AND j.state = 'running' AND turn.began IS NULL
          AND turn.ended IS NULL
        FOR NO KEY UPDATE OF j
    ), taken AS (
        UPDATE chat_messages m SET state = 'taken' FROM held, turn
        WHERE m.conversation_id = turn.conversation_id AND m.turn_id = held.id
          AND m.state = 'queued'
        RETURNING m.seq, m.body, m.data, m.created
    ), begun AS (
        UPDATE turns t SET began = now() FROM held WHERE t.id = held.id
    )
    SELECT turn.*, held.id IS NOT NULL AS begins, taken.seq, taken.body, taken.data,
           taken.created AS said,
           turn.corrections IS NOT NULL AND EXISTS (
               SELECT 1 FROM jsonb_object_keys(turn.corrections) AS k(seq)
               JOIN chat_messages o ON o.conversation_id = turn.conversation_id
                                   AND o.seq = CAST(k.seq AS bigint)
               WHERE o.data ? 'outside') AS corrected_outside,
           coalesce((SELECT max(seq) FROM messages WHERE session_id = turn.session_id), 0)
           AS length,
           coalesce((SELECT max(seq) FROM compactions WHERE session_id = turn.session_id), 0)
           AS compactions
    FROM turn LEFT JOIN held ON true LEFT JOIN taken ON true ORDER BY taken.seq
""")
_OPEN_TRANSCRIPT = text("""
    WITH frozen AS (
        UPDATE sessions SET system_prompt = :prompt, prompt_parts = CAST(:parts AS jsonb),
               title = coalesce(title, :title), title_source = coalesce(title_source, 'auto')
        WHERE id = :session_id AND system_prompt IS NULL
    )
    INSERT INTO messages (session_id, seq, job_id, step, role, blocks)
    SELECT :session_id, CAST(:length AS bigint) + item.n, :turn_id, CAST(item.n AS int) - 1,
           item.m ->> 'role', item.m -> 'blocks'
    FROM jsonb_array_elements(CAST(:messages AS jsonb)) WITH ORDINALITY AS item(m, n)
""")
_TOLD = text("UPDATE sessions SET corrections = NULL WHERE id = :session_id")
_ENDED = """
    WITH conv AS MATERIALIZED (
        SELECT id, next_seq FROM conversations
        WHERE id = :conversation_id AND (steered IS NULL OR :turn_id <> ALL(steered))
        FOR NO KEY UPDATE
    ), job AS (
        UPDATE jobs j SET state = :state, error = :error, finished = clock_timestamp(),
               result = jsonb_build_object('reply_seq', conv.next_seq),
               owner = NULL, owner_lock = NULL, lease_until = NULL
        FROM conv WHERE j.id = :turn_id AND j.fence = :fence AND j.state = 'running'
        RETURNING j.id, j.serial_key, j.state
    ), said AS (
        INSERT INTO messages (session_id, seq, job_id, step, role, blocks, meta)
        SELECT :session_id,
               coalesce((SELECT max(seq) FROM messages WHERE session_id = :session_id), 0) + item.n,
               job.id, :step + CAST(item.n AS int) - 1, item.m ->> 'role', item.m -> 'blocks',
               CAST(:meta AS jsonb)
        FROM job, jsonb_array_elements(CAST(:messages AS jsonb)) WITH ORDINALITY AS item(m, n)
    ), shown AS (
        INSERT INTO chat_messages (conversation_id, seq, author, kind, body, data, state, turn_id)
        SELECT conv.id, conv.next_seq, :author, :kind, :body, CAST(:data AS jsonb), 'sent', job.id
        FROM conv, job
    ), counted AS (
        UPDATE conversations c SET next_seq = c.next_seq + 1, updated = now()
        FROM conv, job WHERE c.id = conv.id
    ), session AS (
        UPDATE sessions SET updated = now() FROM job WHERE sessions.id = :session_id
    ), turn AS (
        UPDATE turns t SET ended = now(), outcome = :outcome, reply_seq = conv.next_seq
        FROM conv, job WHERE t.id = job.id
    ), waits AS (
        UPDATE waits w SET resolved_at = clock_timestamp(), outcome = 'cancelled'
        FROM job WHERE w.job_id = :turn_id AND w.resolved_at IS NULL
    )
"""
# The last condition says "pending" in a way that the index of all pending jobs does not serve: a
# plan that was made while the tables were small would go through every one of them.
_NOTICE = """
    SELECT conv.next_seq AS seq, EXISTS (
               SELECT 1 FROM jobs j WHERE j.serial_key = job.serial_key AND j.id <> job.id
               AND j.state IN ('pending', 'running', 'waiting')
               AND j.state NOT IN ('running', 'waiting')) AS more,
           pg_notify('hab_done', json_build_object(
               'job', job.id, 'key', job.serial_key, 'state', job.state)\\:\\:text)
"""
_END = text(f"{_ENDED} {_NOTICE} FROM conv, job")
_END_AND_SEND = text(
    _ENDED
    + outgoing.DELIVERY.format(
        said="SELECT conv.id AS conversation_id, conv.next_seq AS seq, job.id AS turn_id"
        " FROM conv, job"
    )
    + f"{_NOTICE}, {outgoing.WAKE} FROM conv, job"
)


@dataclass(frozen=True)
class Taken:
    """A turn as its run finds it, with its session's frozen prompt (None before the first turn).

    `begins` says that this run begins it and has taken `messages`; it does not when the turn began
    or ended before, or the lease is lost. `length` is how many messages the transcript has,
    `model`, `effort` and `personality` are what was chosen for the session; `compactions` counts
    its records, `todo` is its task list, `corrections` are texts of which the model has not been
    told; `corrected_outside`: strangers' words may stand in one.
    """

    turn: Turn
    system_prompt: str | None
    begins: bool
    messages: Sequence[Said]
    length: int
    model: str | None = None
    effort: str | None = None
    compactions: int = 0
    todo: dict[str, Any] | None = None
    corrections: Sequence[str] = ()
    personality: str | None = None
    corrected_outside: bool = False


@dataclass(frozen=True)
class TurnEnd:
    """The end of a turn, as it is written. `meta` is what is noted of its messages."""

    outcome: Outcome
    state: JobState
    step: int
    messages: Sequence[Message]
    shown: NewChatMessage
    error: str | None
    meta: Mapping[str, Any] = field(default_factory=dict)


def take(work: Work, turn_id: str, fence: int) -> Taken | None:
    """Read a turn; when it begins, take its queued messages and note that. None: no such turn.

    One round trip, of which the first statement locks the conversation.
    """
    work.defer(_LOCK, turn_id=turn_id)
    rows = work.execute(_TAKE, turn_id=turn_id, fence=fence)
    if not rows:
        return None
    row = rows[0]
    turn = turn_of(row)
    said = [Said(each.body, each.said, each.data, each.seq) for each in rows if each.seq]
    prompt, length = row.system_prompt, row.length
    corrections = list((row.corrections or {}).values())
    kept: Any = row.model, row.effort, row.compactions, row.todo, corrections, row.personality
    kept += (row.corrected_outside,)
    return Taken(turn, prompt, row.begins, said, length, *kept)


def open_transcript(
    work: Work,
    taken: Taken,
    messages: Sequence[Message],
    prompt: str,
    parts: Sequence[Any],
    title: str,
) -> None:
    """Write a turn's first messages, from step 0, and freeze the prompt when it is not. After take.

    `parts` is what the prompt was made of, as JSON values; `title` is for a session without one.
    It travels with the commit.
    """
    turn = taken.turn
    if taken.corrections:
        work.defer(_TOLD, session_id=turn.session_id)
    work.defer(
        _OPEN_TRANSCRIPT,
        length=taken.length,
        session_id=turn.session_id,
        turn_id=turn.id,
        prompt=prompt,
        parts=orjson.dumps(list(parts)).decode(),
        messages=_as_json(messages),
        title=title,
    )


def end(
    database: Database, turn: Turn, fence: int, ending: TurnEnd, calls: Sequence[Call] = ()
) -> bool | None:
    """Write the end of a turn and of its job; None when the lease is lost or guidance waits.

    Otherwise whether another job of the session waits. `calls` are written in any case: what the
    turn's model calls used.
    """
    sends = ending.shown.target is not None
    rows = database.run_after(
        calls,
        _END_AND_SEND if sends else _END,
        conversation_id=turn.conversation_id,
        session_id=turn.session_id,
        turn_id=turn.id,
        fence=fence,
        state=str(ending.state),
        error=ending.error,
        step=ending.step,
        messages=_as_json(ending.messages),
        meta=orjson.dumps(dict(ending.meta)).decode(),
        author=str(ending.shown.author),
        kind=str(ending.shown.kind),
        body=ending.shown.body,
        data=orjson.dumps(ending.shown.data).decode(),
        outcome=str(ending.outcome),
        **(outgoing.parameters(ending.shown) if sends else {}),
    )
    return rows[0].more if rows else None


def _as_json(messages: Sequence[Message]) -> str:
    return orjson.dumps(
        [{"role": m.role, "blocks": blocks_to_json(m.blocks)} for m in messages]
    ).decode()


def as_stored(turn: Turn, messages: Sequence[Message], length: int) -> list[StoredMessage]:
    """Return messages that were just written from step 0 on, as loading would."""
    return [
        StoredMessage(length + n + 1, turn.id, n, message) for n, message in enumerate(messages)
    ]
