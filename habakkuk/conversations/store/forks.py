"""Copies of sessions: the same prompt and messages under new ids, so that caches still apply."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.db.engine import Work

# Where each turn begins, the latest first. What is copied has no turn of its own any more.
_BEGINNINGS = text("""
    SELECT min(m.seq) AS first, max(m.seq) AS last,
           bool_or(t.id IS NOT NULL AND t.ended IS NULL) AS open
    FROM messages m LEFT JOIN turns t ON t.id = m.job_id
    WHERE m.session_id = :session_id GROUP BY m.job_id ORDER BY 1 DESC
""")
# The model is still to be told of a correction when the message that it corrects is copied, from
# a copy as well: the job's id ends in that of the turn there.
_SESSION = text("""
    INSERT INTO sessions (id, conversation_id, agent, user_id, system_prompt, prompt_parts, model,
                          effort, personality, todo, title, title_source, forked_from, corrections)
    SELECT :id, s.conversation_id, s.agent, s.user_id, s.system_prompt, s.prompt_parts, s.model,
           s.effort, s.personality, s.todo, s.title, s.title_source, s.id,
           (SELECT jsonb_object_agg(c.key, c.value)
            FROM jsonb_each(s.corrections) c
            JOIN chat_messages o ON o.conversation_id = s.conversation_id
                                AND o.seq = CAST(c.key AS bigint)
            WHERE EXISTS (SELECT 1 FROM messages m
                          WHERE m.session_id = s.id AND m.seq <= :last
                            AND o.turn_id IN (m.job_id, split_part(m.job_id, ':', -1))))
    FROM sessions s WHERE s.id = :session_id
""")
# A step is unique within its job, so that the copies belong to jobs of their own.
_MESSAGES = text("""
    INSERT INTO messages (session_id, seq, job_id, step, role, blocks, meta, created)
    SELECT :id, seq, :id || ':' || job_id, step, role, blocks, meta, created
    FROM messages WHERE session_id = :session_id AND seq <= :last
""")
_COMPACTIONS = text("""
    INSERT INTO compactions (session_id, seq, first_kept, request_seq, result_limit,
                             transcript_length, summary, job_id, created)
    SELECT :id, seq, first_kept, request_seq, result_limit,
           transcript_length, summary, :id || ':' || job_id, created
    FROM compactions
    WHERE session_id = :session_id AND transcript_length <= :last AND first_kept <= :last
""")


def end_before(work: Work, session_id: str, turns: int) -> int | None:
    """Return the last message before the latest finished `turns` turns; 0 for none at all.

    None when there are not so many. Of a turn that is not finished nothing counts.
    """
    rows = work.execute(_BEGINNINGS, session_id=session_id)
    finished = [row for row in rows if not row.open]
    if turns > len(finished):
        return None
    if turns:
        return int(finished[turns - 1].first) - 1
    return int(finished[0].last) if finished else 0


def copy(work: Work, session_id: str, made: str, last: int) -> None:
    """Make the session `made` of the messages up to `last`, and what sums them up."""
    work.execute(_SESSION, session_id=session_id, id=made, last=last)
    work.execute(_MESSAGES, session_id=session_id, id=made, last=last)
    work.execute(_COMPACTIONS, session_id=session_id, id=made, last=last)
