"""SQL of where each account stands, stored with what it admitted, and of how its poller is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
import psycopg2
from psycopg2 import extensions
from sqlalchemy import text

from habakkuk.conversations.types import Address
from habakkuk.db.engine import Database, DatabaseAway, Work
from habakkuk.db.statements import Row
from habakkuk.gateway.types import Cursor

_SAVE = text("""
    INSERT INTO channel_state (channel, account, name, value)
    VALUES (:channel, :account, :name, CAST(:value AS jsonb))
    ON CONFLICT (channel, account, name) DO UPDATE SET value = excluded.value, updated = now()
""")
_LOAD = text("""
    SELECT value FROM channel_state
    WHERE channel = :channel AND account = :account AND name = :name
""")
_NAMED = text("""
    SELECT channel, account, value, extract(epoch FROM now() - updated)::float8 AS age
    FROM channel_state WHERE name = :name
""")
_SEAT = "SELECT pg_try_advisory_lock(7781, hashtext(%s))"


def save(work: Work, address: Address, cursor: Cursor) -> None:
    """Store the intake's position in the transaction of its message."""
    work.execute(
        _SAVE,
        channel=address.channel,
        account=address.account,
        name=cursor.name,
        value=orjson.dumps(cursor.value).decode(),
    )


def save_alone(database: Database, channel: str, account: str, cursor: Cursor) -> None:
    """Store something of an account by itself."""
    value = orjson.dumps(cursor.value).decode()
    database.run(_SAVE, channel=channel, account=account, name=cursor.name, value=value)


def load(database: Database, channel: str, account: str, name: str) -> Mapping[str, Any] | None:
    """Return what is stored of an account under a name."""
    rows = database.run(_LOAD, channel=channel, account=account, name=name)
    return dict(rows[0].value) if rows else None


def named(database: Database, name: str) -> Sequence[Row]:
    """Return (channel, account, value, age in seconds) of what every account has under a name."""
    return database.run(_NAMED, name=name)


class Seat:
    """The right to poll an account: one holder anywhere, free again when its process dies."""

    def __init__(self, connection: extensions.connection) -> None:
        """Wrap the connection that holds it."""
        self._connection = connection

    def check(self) -> None:
        """Raise DatabaseAway when it is lost."""
        _execute(self._connection, "SELECT 1")


@contextmanager
def seat(database: Database, channel: str, key: str) -> Iterator[Seat | None]:
    """Take the seat of an account, None while somebody has it. Raises DatabaseAway."""
    connection = database.connect_alone("habakkuk channels seat")
    try:
        taken = _execute(connection, _SEAT, f"{channel} {key}")
        yield Seat(connection) if taken else None
    finally:
        connection.close()


def _execute(connection: extensions.connection, statement: str, *values: str) -> object:
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            row = cursor.fetchone()
            return row[0] if row else None
    except psycopg2.Error as error:
        raise DatabaseAway("the connection of an account's seat broke") from error
