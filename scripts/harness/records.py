"""The database seen from outside, and the few things that are done there on purpose."""

from __future__ import annotations

import threading
from typing import Any

import psycopg2
from psycopg2 import extensions
from psycopg2.extras import RealDictCursor

from tests.servers import plain_url

_ALIVE = """
    SELECT w.pid FROM workers w JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted
      AND l.classid = 7777 AND l.objsubid = 2 AND l.objid = CAST(w.owner_lock AS oid)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_RUNNERS = """
    SELECT w.pid FROM jobs j JOIN workers w ON w.owner_lock = j.owner_lock
    WHERE j.state = 'running' AND j.id = coalesce(%s, j.id)
"""
_TURNS = """
    SELECT j.id, j.crashes FROM jobs j JOIN workers w ON w.owner_lock = j.owner_lock
    WHERE j.state = 'running' AND j.kind = 'turn' AND w.pid = %s
"""
_CUT_PRESENCE = """
    SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN workers w
      ON l.objid = CAST(w.owner_lock AS oid)
    WHERE l.locktype = 'advisory' AND l.classid = 7777 AND l.granted AND w.pid = %s
"""
_KEPT = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'habakkuk processes line'
"""
_OPEN = "SELECT count(*) AS n FROM jobs WHERE state IN ('pending', 'running', 'waiting')"


class Records:
    """One connection, made anew whenever it broke. Safe to share between threads."""

    def __init__(self, url: str) -> None:
        """Take the database's URL; nothing is opened yet."""
        self._url = plain_url(url)
        self._lock = threading.Lock()
        self._connection: extensions.connection | None = None

    def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        """Run one statement and return its rows. Raises psycopg2.Error."""
        with self._lock:
            try:
                return self._run(statement, values)
            except psycopg2.Error:
                # A server that went says so with any class; a faulty statement fails again.
                self._drop()
                return self._run(statement, values)

    def execute(self, statement: str, *values: object) -> None:
        """Change something on purpose."""
        with self._lock:
            self._run(statement, values)

    def alive(self) -> set[int]:
        """Return the pids of the workers that take jobs and whose presence lock is held."""
        return {int(row["pid"]) for row in self.rows(_ALIVE)}

    def busy(self) -> set[int]:
        """Return the pids of those that run something at this moment."""
        return {int(row["pid"]) for row in self.rows(_RUNNERS, None)} & self.alive()

    def runner_of(self, turn: str) -> int | None:
        """Return the pid of the worker that runs this turn now."""
        found = {int(row["pid"]) for row in self.rows(_RUNNERS, turn)} & self.alive()
        return found.pop() if found else None

    def turns_of(self, pid: int) -> dict[str, int]:
        """Return the turns that a worker runs now, or ran when it died just now: their crashes."""
        return {str(row["id"]): int(row["crashes"]) for row in self.rows(_TURNS, pid)}

    def cut_presence(self, pid: int) -> None:
        """End the connection that shows that this worker lives."""
        self.rows(_CUT_PRESENCE, pid)

    def kept(self) -> bool:
        """Return whether the service of background processes is there."""
        return bool(self.rows(_KEPT))

    def open_jobs(self) -> int:
        """Return how many jobs have not ended."""
        return int(self.rows(_OPEN)[0]["n"])

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _run(self, statement: str, values: tuple[object, ...]) -> list[dict[str, Any]]:
        if self._connection is None:
            self._connection = psycopg2.connect(self._url)
            self._connection.autocommit = True
        with self._connection.cursor(cursor_factory=RealDictCursor) as cursor:
            cursor.execute(statement, values or None)
            return [dict(row) for row in cursor.fetchall()] if cursor.description else []

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
