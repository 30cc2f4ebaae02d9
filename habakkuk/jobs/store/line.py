"""The connection that a process holds for as long as it lives: its presence lock, and LISTEN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg2
from psycopg2 import extensions

from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.db.listen import Notifications

CANCEL_CHANNEL = "hab_cancel"
WAKE_CHANNEL = "hab_wake"
_PRESENCE = 7777
_PROBE = 7779


class Line:
    """An open line. Not thread-safe."""

    def __init__(self, connection: extensions.connection) -> None:
        """Wrap the connection."""
        self._connection = connection
        self._notifications = Notifications(connection)

    def hold_presence(self, number: int) -> bool:
        """Take the presence lock; False when another connection has it."""
        return self._lock(_PRESENCE, number)

    def hold_probe(self, host: int) -> bool:
        """Become the probe of a host; False when there is one."""
        return self._lock(_PROBE, host)

    def listen(self) -> None:
        """Hear of cancellations and wake-ups from now on."""
        for channel in (CANCEL_CHANNEL, WAKE_CHANNEL):
            self._execute(f"LISTEN {channel}")

    def wait(self, seconds: float) -> Sequence[tuple[str, str]]:
        """Return (channel, payload) of what came, after `seconds` at the latest.

        Raises DatabaseAway when the line is down.
        """
        return self._notifications.wait(seconds)

    def check(self) -> None:
        """Ask the server for a sign of life. Raises DatabaseAway."""
        self._execute("SELECT 1")

    def _lock(self, space: int, number: int) -> bool:
        return bool(self._execute("SELECT pg_try_advisory_lock(%s, %s)", space, number))

    def _execute(self, statement: str, *values: int) -> object:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement, values or None)
                row = cursor.fetchone() if cursor.description else None
                return row[0] if row else None
        except psycopg2.Error as error:
            raise DatabaseAway("the presence connection broke") from error


@contextmanager
def open_line(database: Database, name: str) -> Iterator[Line]:
    """Open a line, closed at the end: its locks go with it. Raises DatabaseAway."""
    connection = database.connect_alone(name)
    try:
        yield Line(connection)
    finally:
        connection.close()
