"""The journal of tool calls."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from sqlalchemy import text

from habakkuk.conversations.types import CallState, JournalEntry
from habakkuk.db.engine import Database, Work
from habakkuk.llm.types import ToolCall

_START = text("""
    INSERT INTO tool_calls (session_id, call_id, job_id, step, name, input, state)
    VALUES (:session_id, :call_id, :job_id, :step, :name, CAST(:input AS jsonb), 'running')
    ON CONFLICT (session_id, call_id) DO UPDATE SET state = 'running', started = now()
""")
_END = text("""
    UPDATE tool_calls SET state = 'done', result = CAST(:result AS jsonb), finished = now()
    WHERE session_id = :session_id AND call_id = :call_id AND state <> 'done'
""")
_OF_STEP = text("""
    SELECT call_id, name, input, state, result FROM tool_calls
    WHERE job_id = :job_id AND step = :step
""")
_KNOWN = text("""
    SELECT call_id FROM tool_calls WHERE session_id = :session_id AND call_id = ANY(:ids)
""")


def start(
    work: Work, session_id: str, job_id: str, step: int, calls: Sequence[ToolCall]
) -> None:
    """Write the calls as running, before any of them starts. After a guard."""
    rows = [
        {
            "session_id": session_id,
            "call_id": call.id,
            "job_id": job_id,
            "step": step,
            "name": call.name,
            "input": orjson.dumps(call.input).decode(),
        }
        for call in calls
    ]
    work.execute_many(_START, rows)


def end(work: Work, session_id: str, call_id: str, text_: str, is_error: bool) -> None:  # noqa: FBT001 - a stored fact
    """Write one call's result; the first one stands. After a guard."""
    result = orjson.dumps({"text": text_, "is_error": is_error}).decode()
    work.execute(_END, session_id=session_id, call_id=call_id, result=result)


def of_step(database: Database, job_id: str, step: int) -> dict[str, JournalEntry]:
    """Return the recorded calls of one assistant message, by call id."""
    entries = {}
    for row in database.run(_OF_STEP, job_id=job_id, step=step):
        result = row.result or {}
        entries[row.call_id] = JournalEntry(
            row.call_id,
            row.name,
            row.input,
            CallState(row.state),
            result.get("text", ""),
            bool(result.get("is_error", False)),
        )
    return entries


def known_ids(database: Database, session_id: str, ids: Sequence[str]) -> set[str]:
    """Return which of these call ids the session has used before."""
    rows = database.run(_KNOWN, session_id=session_id, ids=list(ids))
    return {row.call_id for row in rows}
