"""Hear NOTIFY on a connection of its own."""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg2
import psycopg2.extensions
from psycopg2.extensions import quote_ident

from habakkuk.db.engine import Database, DatabaseAway


class Notifications:
    """A connection that listens. Not thread-safe."""

    def __init__(self, connection: psycopg2.extensions.connection) -> None:
        """Wrap a listening connection."""
        self._connection = connection

    def wait(self, seconds: float, woken: int | None = None) -> Sequence[tuple[str, str]]:
        """Return (channel, payload) of what came, after `seconds` at the latest.

        What can be read from the descriptor `woken` ends the wait, and stays there. Raises
        DatabaseAway when the connection is gone.
        """
        sources: list[psycopg2.extensions.connection | int] = [self._connection]
        sources += [woken] if woken is not None else []
        try:
            if self._connection in select.select(sources, [], [], seconds)[0]:
                self._connection.poll()
        except (psycopg2.Error, OSError, ValueError) as error:
            raise DatabaseAway("the listening connection broke") from error
        came = [(notify.channel, notify.payload) for notify in self._connection.notifies]
        self._connection.notifies.clear()
        return came


@contextmanager
def listening(database: Database, name: str, *channels: str) -> Iterator[Notifications]:
    """Open a connection that listens on `channels`. Raises DatabaseAway."""
    connection = database.connect_alone(name)
    try:
        _listen(connection, channels)
        yield Notifications(connection)
    finally:
        connection.close()


def _listen(connection: psycopg2.extensions.connection, channels: Sequence[str]) -> None:
    try:
        with connection.cursor() as cursor:
            for channel in channels:
                cursor.execute(f"LISTEN {quote_ident(channel, connection)}")
    except psycopg2.Error as error:
        raise DatabaseAway("the listening connection broke") from error
