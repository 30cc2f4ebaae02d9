"""What turns did before their answers: the text and the tool calls of each step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from habakkuk.db.engine import Database
from habakkuk.db.statements import Row

# What one call may show in a list; the whole is looked up by itself.
_SHOWN = 4000

# Of a turn's job `j`.
PAUSED = """
    (j.state = 'waiting' AND EXISTS (
        SELECT 1 FROM waits w
        WHERE w.job_id = j.id AND w.kind = 'pause' AND w.resolved_at IS NULL))
"""
_TURNS = text(f"""
    SELECT t.id, t.outcome, t.began, t.ended, j.state, {PAUSED} AS paused
    FROM turns t LEFT JOIN jobs j ON j.id = t.id
    WHERE t.conversation_id = :conversation_id AND t.id = ANY(:ids)
""")
_OPEN = text(f"""
    SELECT t.id, t.outcome, t.began, t.ended, j.state, {PAUSED} AS paused
    FROM jobs j JOIN turns t ON t.id = j.id
    WHERE j.serial_key = 's:' || CAST(:session_id AS text)
      AND j.state IN ('pending', 'running', 'waiting') AND t.conversation_id = :conversation_id
    ORDER BY j.seq
""")
_TEXTS = text("""
    SELECT m.job_id, m.step, (
        SELECT string_agg(b.block ->> 'text', '' ORDER BY b.n)
        FROM jsonb_array_elements(m.blocks) WITH ORDINALITY AS b(block, n)
        WHERE b.block ->> 'type' = 'text') AS body
    FROM messages m
    WHERE m.job_id = ANY(:ids) AND m.role = 'assistant'
      AND m.blocks @> '[{"type": "tool_call"}]'
""")
_CALLS = text(f"""
    SELECT job_id, step, call_id, name, state, started, finished,
           CASE WHEN length(CAST(input AS text)) <= {_SHOWN} THEN input END AS input,
           left(CAST(input AS text), {_SHOWN}) AS input_text,
           left(result ->> 'text', {_SHOWN}) AS result,
           length(result ->> 'text') AS length,
           coalesce(CAST(result ->> 'is_error' AS boolean), false) AS is_error
    FROM tool_calls WHERE job_id = ANY(:ids) ORDER BY started, call_id
""")
_WHOLE = text("""
    SELECT input, coalesce(result ->> 'text', '') AS result FROM tool_calls
    WHERE job_id = :turn_id AND call_id = :call_id
""")


@dataclass(frozen=True)
class ShownCall:
    """One call as a list shows it; `length` is that of its whole result, None without one.

    `input` is None when it is too long to show; `input_text` is how its JSON begins.
    """

    id: str
    name: str
    state: str
    input: dict[str, Any] | None
    input_text: str
    result: str | None
    length: int | None
    is_error: bool
    started: datetime | None
    finished: datetime | None


@dataclass(frozen=True)
class Step:
    """What the agent said and called in one step that was not its last."""

    number: int
    text: str
    calls: Sequence[ShownCall]


@dataclass(frozen=True)
class ShownTurn:
    """A turn and its steps. `state` is its job's, None when that is no longer kept.

    `paused`: it waits because a person paused it.
    """

    id: str
    state: str | None
    outcome: str | None
    began: datetime | None
    ended: datetime | None
    steps: Sequence[Step]
    paused: bool = False


def turns(database: Database, conversation_id: str, ids: Sequence[str]) -> list[ShownTurn]:
    """Return these turns of a conversation with their steps."""
    if not ids:
        return []
    rows = database.run(_TURNS, conversation_id=conversation_id, ids=list(ids))
    return _with_steps(database, rows)


def open_turns(database: Database, conversation_id: str, session_id: str) -> list[ShownTurn]:
    """Return the turns of a session that have not ended, in the order of their answers."""
    rows = database.run(_OPEN, conversation_id=conversation_id, session_id=session_id)
    return _with_steps(database, rows)


def whole_call(database: Database, turn_id: str, call_id: str) -> tuple[dict[str, Any], str] | None:
    """Return the input and the result of one call, uncut."""
    rows = database.run(_WHOLE, turn_id=turn_id, call_id=call_id)
    return (rows[0].input, rows[0].result) if rows else None


def _with_steps(database: Database, rows: Sequence[Row]) -> list[ShownTurn]:
    began = [row.id for row in rows if row.began is not None]
    steps = _steps(database, began) if began else {}
    return [
        ShownTurn(
            row.id,
            row.state,
            row.outcome,
            row.began,
            row.ended,
            steps.get(row.id, ()),
            bool(row.paused),
        )
        for row in rows
    ]


def _steps(database: Database, ids: Sequence[str]) -> Mapping[str, Sequence[Step]]:
    texts = {(r.job_id, r.step): r.body or "" for r in database.run(_TEXTS, ids=list(ids))}
    calls: dict[tuple[str, int], list[ShownCall]] = defaultdict(list)
    for row in database.run(_CALLS, ids=list(ids)):
        calls[row.job_id, row.step].append(_call(row))
    found: dict[str, list[Step]] = defaultdict(list)
    for turn_id, number in sorted(texts.keys() | calls.keys()):
        key = (turn_id, number)
        found[turn_id].append(Step(number, texts.get(key, ""), calls.get(key, [])))
    return found


def _call(row: Row) -> ShownCall:
    return ShownCall(
        row.call_id,
        row.name,
        row.state,
        row.input,
        row.input_text,
        row.result,
        row.length,
        row.is_error,
        row.started,
        row.finished,
    )
