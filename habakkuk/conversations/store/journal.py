"""The journal of tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.conversations.types import CallState, JournalEntry
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row
from habakkuk.llm.types import Media, ToolCall, ToolResult, blocks_to_json

_START = text("""
    INSERT INTO tool_calls (session_id, call_id, job_id, step, name, input, state)
    VALUES (:session_id, :call_id, :job_id, :step, :name, CAST(:input AS jsonb), 'running')
    ON CONFLICT (session_id, call_id) DO UPDATE SET state = 'running', started = now()
""")
# A call that was refused has no row yet; the first result of a call stands.
_END = text("""
    INSERT INTO tool_calls (session_id, call_id, job_id, step, name, input, state, result, finished)
    VALUES (:session_id, :call_id, :job_id, :step, :name, CAST(:input AS jsonb), 'done',
            CAST(:result AS jsonb), now())
    ON CONFLICT (session_id, call_id) DO UPDATE
    SET state = 'done', result = excluded.result, finished = now()
    WHERE tool_calls.state <> 'done'
""")
# A call that must be asked for has no row yet; one that was given up meanwhile keeps its result.
_HOLD = text("""
    INSERT INTO tool_calls (session_id, call_id, job_id, step, name, input, state, started)
    VALUES (:session_id, :call_id, :job_id, :step, :name, CAST(:input AS jsonb), 'waiting', NULL)
    ON CONFLICT (session_id, call_id) DO NOTHING
""")
_WAIT = text("""
    UPDATE tool_calls SET state = 'waiting'
    WHERE session_id = :session_id AND call_id = :call_id AND state = 'running'
""")
_OF_STEP = text("""
    SELECT call_id, name, input, state, result, started IS NOT NULL AS started FROM tool_calls
    WHERE job_id = :job_id AND step = :step
""")
_RESULTS = text("""
    SELECT result ->> 'text' AS text FROM tool_calls
    WHERE session_id = :session_id AND name = ANY(:names) AND state = 'done'
    ORDER BY finished, call_id
""")
_KNOWN = text("""
    SELECT call_id FROM tool_calls WHERE session_id = :session_id AND call_id = ANY(:ids)
""")


@dataclass(frozen=True)
class Place:
    """Where calls stand: the session, the turn's job and the step of their assistant message."""

    session_id: str
    job_id: str
    step: int


def start(work: Work, place: Place, calls: Sequence[ToolCall]) -> None:
    """Write the calls as running, before any of them starts. After a guard."""
    work.execute_many(_START, [_row(place, call) for call in calls])


def wait(work: Work, place: Place, call: ToolCall) -> bool:
    """Mark a call as waiting; False when it was given up meanwhile. After a guard."""
    marked = work.execute(_WAIT, session_id=place.session_id, call_id=call.id)
    return bool(marked.changed)


def hold(work: Work, place: Place, call: ToolCall) -> bool:
    """Write a call that was not started as waiting; False when it has a row. After a guard."""
    return bool(work.execute(_HOLD, **_row(place, call)).changed)


def end(
    work: Work, place: Place, call: ToolCall, result: ToolResult, media: Sequence[Media] = ()
) -> bool:
    """Write one call's result; False when it has one, which stands. After a guard.

    `media` are the files it brought, whose blobs are stored.
    """
    stored: dict[str, Any] = {"text": result.text, "is_error": result.is_error}
    if media:
        stored["media"] = blocks_to_json(media)
    written = orjson.dumps(stored).decode()
    return bool(work.execute(_END, **_row(place, call), result=written).changed)


def _row(place: Place, call: ToolCall) -> dict[str, Any]:
    return {
        "session_id": place.session_id,
        "call_id": call.id,
        "job_id": place.job_id,
        "step": place.step,
        "name": call.name,
        "input": orjson.dumps(call.input).decode(),
    }


def of_step(database: Database, place: Place) -> dict[str, JournalEntry]:
    """Return the recorded calls of one assistant message, by call id."""
    return _by_id(database.run(_OF_STEP, job_id=place.job_id, step=place.step))


def of_step_in(work: Work, place: Place) -> dict[str, JournalEntry]:
    """Return the same inside a transaction."""
    return _by_id(work.execute(_OF_STEP, job_id=place.job_id, step=place.step))


def _by_id(rows: Iterable[Row]) -> dict[str, JournalEntry]:
    return {row.call_id: _entry(row) for row in rows}


def _entry(row: Row) -> JournalEntry:
    result = row.result or {}
    return JournalEntry(
        row.call_id,
        row.name,
        row.input,
        CallState(row.state),
        row.started,
        result.get("text", ""),
        bool(result.get("is_error", False)),
        tuple(Media.model_validate(one) for one in result.get("media", ())),
    )


def known_ids(database: Database, session_id: str, ids: Sequence[str]) -> set[str]:
    """Return which of these call ids the session has used before."""
    rows = database.run(_KNOWN, session_id=session_id, ids=list(ids))
    return {row.call_id for row in rows}


def results_of(database: Database, session_id: str, names: Sequence[str]) -> list[str]:
    """Return what calls of these tools gave in a session, in the order in which they ended."""
    rows = database.run(_RESULTS, session_id=session_id, names=list(names))
    return [row.text or "" for row in rows]
