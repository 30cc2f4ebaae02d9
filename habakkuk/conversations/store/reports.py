"""Sums over the ledger of model calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import text

from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row
from habakkuk.llm.types import Usage

_SUMS = """
    count(*) AS calls, count(*) FILTER (WHERE u.outcome NOT IN ('answered', 'stopped')) AS failed,
    coalesce(sum(u.input), 0) AS input, coalesce(sum(u.output), 0) AS output,
    coalesce(sum(u.cache_read), 0) AS cache_read, coalesce(sum(u.cache_write), 0) AS cache_write,
    coalesce(sum(u.reasoning), 0) AS reasoning, coalesce(sum(u.searches), 0) AS searches,
    sum(u.cost) AS cost, count(*) FILTER (WHERE u.cost IS NULL) AS unpriced
"""
# Both ends, though nothing was used after now: see store/spend.py.
_WINDOW = """
    u.at >= :since AND u.at < :until
    AND (CAST(:user_id AS text) IS NULL OR u.user_id = :user_id)
"""
# Everything in one pass. GROUPING has a bit for each column that a row is not about.
_KINDS = {0b0111: "day", 0b1011: "model", 0b1101: "agent", 0b1110: "user"}
_REPORT = text(f"""
    SELECT one.*, coalesce(p.name, one.user_id) AS who FROM (
        SELECT GROUPING(u.day, u.ref, u.agent, u.user_id) AS kind,
               u.day, u.ref, u.agent, u.user_id, {_SUMS}
        FROM (
            SELECT width_bucket(u.at, CAST(:days AS timestamptz[])) AS day,
                   u.provider || '/' || u.model AS ref, u.agent, u.user_id, u.outcome, u.input,
                   u.output, u.cache_read, u.cache_write, u.reasoning, u.searches, u.cost
            FROM usage u WHERE {_WINDOW}
        ) u
        GROUP BY GROUPING SETS ((u.day), (u.ref), (u.agent), (u.user_id))
    ) one
    LEFT JOIN users p ON p.id = one.user_id
    ORDER BY one.day DESC, one.cost DESC NULLS LAST, one.input DESC, one.ref, one.agent, who
""")
_WITHIN = text(f"SELECT {_SUMS} FROM usage u WHERE {_WINDOW}")
_SESSION = text(f"SELECT {_SUMS} FROM usage u WHERE u.session_id = :session_id")
_CACHED = text(f"""
    SELECT u.provider || '/' || u.model AS ref,
           coalesce(sum(u.input) FILTER (WHERE u.at >= :begins), 0) AS input,
           coalesce(sum(u.cache_read) FILTER (WHERE u.at >= :begins), 0) AS cache_read,
           coalesce(sum(u.input) FILTER (WHERE u.at < :begins), 0) AS input_before,
           coalesce(sum(u.cache_read) FILTER (WHERE u.at < :begins), 0) AS cache_read_before
    FROM usage u WHERE {_WINDOW} GROUP BY ref ORDER BY ref
""")


@dataclass(frozen=True)
class Spent:
    """What calls used together. `failed` are those without a whole answer that nobody stopped.

    `cost` is what those with a known price cost in USD, None when none has one; `unpriced` are the
    others.
    """

    calls: int
    failed: int
    usage: Usage
    cost: Decimal | None
    unpriced: int


@dataclass(frozen=True)
class Line:
    """One line of a report: of a day (by its number, from 1), a model, an agent or a person."""

    kind: str
    key: int | str | None
    spent: Spent


@dataclass(frozen=True)
class CacheUse:
    """Tokens that a model read, and how many of them from a cache: lately, and before that."""

    model: str
    input: int
    cache_read: int
    input_before: int
    cache_read_before: int


@dataclass(frozen=True)
class Window:
    """Which calls: from `since` until before `until`, of one person or (None) of everybody."""

    since: datetime
    until: datetime
    user_id: str | None


def report(database: Database, window: Window, days: Sequence[datetime]) -> Sequence[Line]:
    """Return the lines of a window: days, the newest first, then the rest, the dearest first.

    `days` are the moments at which its days begin.
    """
    rows = database.run(
        _REPORT,
        since=window.since,
        until=window.until,
        user_id=window.user_id,
        days=list(days),
    )
    return [_line(row) for row in rows]


def within(work: Work, window: Window) -> Spent:
    """Return what was used in a window, as one sum."""
    rows = work.execute(_WITHIN, since=window.since, until=window.until, user_id=window.user_id)
    return _spent(rows[0])


def of_session(work: Work, session_id: str) -> Spent:
    """Return what a session has used."""
    return _spent(work.execute(_SESSION, session_id=session_id)[0])


def cached(database: Database, window: Window, begins: datetime) -> Sequence[CacheUse]:
    """Return how much each model read from a cache, since `begins` and in the window before it."""
    rows = database.run(
        _CACHED,
        since=window.since,
        until=window.until,
        user_id=window.user_id,
        begins=begins,
    )
    return [
        CacheUse(
            row.ref,
            int(row.input),
            int(row.cache_read),
            int(row.input_before),
            int(row.cache_read_before),
        )
        for row in rows
    ]


def _line(row: Row) -> Line:
    kind = _KINDS[row.kind]
    keys = {"day": row.day, "model": row.ref, "agent": row.agent, "user": row.who}
    return Line(kind, keys[kind], _spent(row))


def _spent(row: Row) -> Spent:
    usage = Usage(
        int(row.input),
        int(row.output),
        int(row.cache_read),
        int(row.cache_write),
        int(row.reasoning),
        int(row.searches),
    )
    return Spent(row.calls, row.failed, usage, row.cost, row.unpriced)
