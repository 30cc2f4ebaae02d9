"""SQL of guidance and pauses.

Guidance is a queued row of the chat that belongs to a turn that has begun; the conversation names
each such turn, so that none can end past what it has not read. A pause is an open wait of the turn.
Both are written before anything is signalled: nothing is ever inferred from a broken call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from habakkuk.conversations.types import Turn, serial_key
from habakkuk.core.ids import derive
from habakkuk.db.engine import Work
from habakkuk.jobs.store import queue
from habakkuk.jobs.types import NewJob, Queue

# The kind of the wait.
PAUSE = "pause"

_BEGUN = text("""
    SELECT t.id, t.session_id, t.user_id, j.state,
           (SELECT w.id FROM waits w WHERE w.job_id = t.id AND w.kind = 'pause'
            AND w.resolved_at IS NULL LIMIT 1) AS pause
    FROM turns t JOIN jobs j ON j.id = t.id
    WHERE t.conversation_id = :conversation_id AND t.ended IS NULL AND t.began IS NOT NULL
      AND j.state IN ('pending', 'running', 'waiting') AND NOT j.cancel_requested
    ORDER BY j.seq
""")
# Several may run: what /new or /fork left behind, and what was asked beside. The ended ones go.
_STEER = text("""
    UPDATE conversations c SET steered = array_append(
        ARRAY(SELECT t.id FROM turns t
              WHERE t.id = ANY(c.steered) AND t.id <> :turn_id AND t.ended IS NULL),
        CAST(:turn_id AS text))
    WHERE c.id = :conversation_id
""")
# After a guard. Rows that somebody takes back at this moment are left out by their state.
_NEWS = text("""
    WITH taken AS (
        UPDATE chat_messages SET state = 'taken'
        WHERE turn_id = :turn_id AND state = 'queued' AND kind = 'steer'
        RETURNING seq, body
    )
    SELECT (SELECT array_agg(body ORDER BY seq) FROM taken) AS guidance,
           EXISTS (SELECT 1 FROM waits w WHERE w.job_id = :turn_id AND w.kind = 'pause'
                   AND w.resolved_at IS NULL) AS paused
""")
_TELL = text("""
    UPDATE waits SET payload = payload || CAST('{"told": true}' AS jsonb)
    WHERE job_id = :turn_id AND kind = 'pause' AND resolved_at IS NULL AND NOT payload ? 'told'
""")
_PAUSED = text("""
    SELECT 1 FROM waits WHERE job_id = :turn_id AND kind = 'pause' AND resolved_at IS NULL
""")
_FORGET = text("""
    UPDATE waits SET consumed_at = clock_timestamp()
    WHERE job_id = :turn_id AND kind = 'pause' AND resolved_at IS NOT NULL AND consumed_at IS NULL
""")
_STEERED = text("""
    UPDATE conversations SET steered = nullif(array_remove(steered, :turn_id), '{}')
    WHERE id = :conversation_id AND :turn_id = ANY(steered)
""")
_LEFT = text("""
    SELECT min(seq) AS seq FROM chat_messages
    WHERE conversation_id = :conversation_id AND turn_id = :turn_id AND state = 'queued'
""")
_FOLLOW = text("""
    WITH moved AS (
        UPDATE chat_messages SET turn_id = :follow_up
        WHERE conversation_id = :conversation_id AND turn_id = :turn_id AND state = 'queued'
    )
    INSERT INTO turns (id, session_id, conversation_id, user_id, agent, origin, reply_to)
    SELECT :follow_up, session_id, conversation_id, user_id, agent, origin, reply_to
    FROM turns WHERE id = :turn_id
    ON CONFLICT (id) DO NOTHING
""")


@dataclass(frozen=True)
class Begun:
    """A turn that has begun and not ended. `pause` is its open pause."""

    id: str
    session_id: str
    user_id: str | None
    state: str
    pause: str | None


@dataclass(frozen=True)
class News:
    """What came for a turn while it worked."""

    guidance: Sequence[str]
    paused: bool


def begun(work: Work, conversation_id: str) -> list[Begun]:
    """Return the turns of a conversation that have begun and go on."""
    rows = work.execute(_BEGUN, conversation_id=conversation_id)
    return [Begun(row.id, row.session_id, row.user_id, row.state, row.pause) for row in rows]


def steer(work: Work, conversation_id: str, turn_id: str) -> None:
    """Note that a turn has guidance to read. The conversation must be locked by `work`."""
    work.execute(_STEER, conversation_id=conversation_id, turn_id=turn_id)


def news(work: Work, turn_id: str) -> News:
    """Take a turn's guidance and look whether it is to pause. After a guard."""
    (row,) = work.execute(_NEWS, turn_id=turn_id)
    return News(row.guidance or (), row.paused)


def paused(work: Work, turn_id: str) -> bool:
    """Return whether a turn is to pause. After a guard."""
    return work.execute(_PAUSED, turn_id=turn_id).first() is not None


def tell(work: Work, turn_id: str) -> bool:
    """Note that a pause was told of; False when it was before. After a guard."""
    return bool(work.execute(_TELL, turn_id=turn_id).changed)


def forget_pauses(work: Work, turn_id: str) -> None:
    """Use up the pauses that the end of a turn resolved: it goes on, and none is read any more.

    A wait that is resolved and not used up would keep it from parking for its next question.
    """
    work.execute(_FORGET, turn_id=turn_id)


def unsteer(work: Work, turn: Turn) -> bool:
    """Note that a turn has no guidance left; False when none came. Under the lock."""
    place = {"conversation_id": turn.conversation_id, "turn_id": turn.id}
    return bool(work.execute(_STEERED, **place).changed)


def follow_up(work: Work, turn: Turn) -> None:
    """Make the guidance that a turn has not read a turn of its own. Under the lock."""
    place = {"conversation_id": turn.conversation_id, "turn_id": turn.id}
    (left,) = work.execute(_LEFT, **place)
    if left.seq is None:
        return
    following = derive("steer", turn.id, str(left.seq))
    work.execute(_FOLLOW, follow_up=following, **place)
    queue.enqueue(
        work, NewJob(following, "turn", Queue.TURNS, serial_key=serial_key(turn.session_id))
    )
