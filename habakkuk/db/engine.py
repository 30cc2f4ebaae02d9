"""The one database engine of a process.

Two ways in: `run` for a single statement, which is its own transaction, and `transaction` for
several. Neither may be open over a network call; the server ends an idle transaction after 10 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import orjson
import psycopg2
import psycopg2.extensions
from psycopg2 import errorcodes
from psycopg2.extensions import TRANSACTION_STATUS_INERROR
from sqlalchemy import Connection, CursorResult, Row, TextClause, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from habakkuk.core.errors import Invalid, Unavailable
from habakkuk.db.cooperate import has_something_to_read

# A frozen process inside a transaction keeps its row locks until the server ends it (10 s), a lock
# held longer than 5 s is a fault, and no statement of ours takes 30 s.
IDLE_SECONDS = 10.0
_SERVER_OPTIONS = (
    "-c idle_in_transaction_session_timeout={idle} -c lock_timeout=5000 -c statement_timeout=30000"
)
_CONNECT_ARGS: dict[str, Any] = {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


_COMMIT, _ROLLBACK = text("COMMIT"), text("ROLLBACK")


_NOTHING = text("SELECT 1")


@cache
def _first(statement: TextClause) -> TextClause:
    """Return a statement that begins a transaction on its way: one round trip for both.

    The server gives each of the two a snapshot of its own, as if they came apart.
    """
    return text(f"BEGIN; {statement.text}")


class DatabaseAway(Unavailable):
    """PostgreSQL does not answer. Nothing of the transaction is known to have happened."""

    said = "the database does not answer; try again in a few seconds"

    def __init__(self, detail: str) -> None:
        """Keep what the driver said for the log; the message is for the person."""
        super().__init__(self.said)
        self.detail = detail


class DatabaseBusy(DatabaseAway):
    """Somebody held a lock for too long: nothing happened, and the same again will do."""

    said = "the database is busy with the same thing; try again in a few seconds"


class DatabaseCrowded(DatabaseAway):
    """Every connection of this process was busy for too long: nothing happened."""

    said = "more is under way than this server can do at once; try again in a few seconds"


class Work:
    """One open transaction. What must wait for its commit is given to `after_commit`."""

    def __init__(self, connection: Connection) -> None:
        """Wrap the connection; only stores may look inside."""
        self._connection = connection
        self._callbacks: list[Callable[[], None]] = []
        self.begun = False

    def execute(self, statement: TextClause, **params: Any) -> CursorResult[Any]:
        """Run one statement in this transaction."""
        begins, self.begun = not self.begun, True
        with _storable():
            return self._connection.execute(_first(statement) if begins else statement, params)

    def execute_many(self, statement: TextClause, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run one statement for each row of parameters; nothing when there is none."""
        if rows:
            if not self.begun:
                self.execute(_NOTHING)
            with _storable():
                self._connection.execute(statement, rows)

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Run `callback` once the transaction is committed; it must not raise."""
        self._callbacks.append(callback)

    def committed(self) -> None:
        """Run the callbacks; called by Database alone."""
        for callback in self._callbacks:
            callback()


class Database:
    """A pool of connections. Make it after a fork, never before: children may not share sockets."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 12,
        name: str = "habakkuk",
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Prepare the pool; connects at the first use. `name` shows in pg_stat_activity.

        A transaction in which nothing happens for `idle_seconds` is ended by the server.
        """
        self._url = url
        options = _SERVER_OPTIONS.format(idle=int(idle_seconds * 1000))
        self._connect_args = _CONNECT_ARGS | {"application_name": name, "options": options}
        self._engine = create_engine(
            url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=10,
            connect_args=self._connect_args,
            # Switching a connection between autocommit and not costs a SET each way; so all are in
            # autocommit, and a transaction says BEGIN and COMMIT itself.
            isolation_level="AUTOCOMMIT",
            json_serializer=lambda value: orjson.dumps(value).decode(),
            json_deserializer=orjson.loads,
            # Errors go to logs, and what people wrote does not.
            hide_parameters=True,
        )
        event.listen(self._engine, "checkout", _refuse_closed)

    @contextmanager
    def transaction(self) -> Iterator[Work]:
        """Open a transaction: commit at the end, roll back on any exception.

        Raises DatabaseAway when the server is not there. When that happens in the commit itself
        the outcome is unknown: ids and unique keys make the repetition harmless.
        """
        with _translated(), self._engine.connect() as connection:
            work = Work(connection)
            try:
                yield work
            except BaseException:
                _roll_back(connection)
                raise
            if work.begun:
                _refuse_aborted(connection)
                connection.execute(_COMMIT)
        work.committed()

    def run(self, statement: TextClause, **params: Any) -> Sequence[Row[Any]]:
        """Run one statement as its own transaction and return its rows."""
        with _translated(), _storable(), self._engine.connect() as connection:
            result = connection.execute(statement, params)
            return result.all() if result.returns_rows else ()

    def connect_alone(self, name: str) -> psycopg2.extensions.connection:
        """Return a driver connection outside the pool, in autocommit: for LISTEN and presence.

        Its server settings are the defaults: it may be idle for days.
        """
        with _translated():
            options = make_url(self._url).translate_connect_args(username="user", database="dbname")
            query = dict(make_url(self._url).query)
            args = _CONNECT_ARGS | options | query | {"application_name": name}
            connection: psycopg2.extensions.connection = psycopg2.connect(**args)
            connection.autocommit = True
            return connection

    def beside(self, name: str, *, idle_seconds: float = IDLE_SECONDS) -> Database:
        """Return a pool of one connection beside this one, for work that may not queue for it."""
        return Database(self._url, pool_size=1, name=name, idle_seconds=idle_seconds)

    def dispose(self) -> None:
        """Close the pool."""
        self._engine.dispose()


def _refuse_aborted(connection: Connection) -> None:
    """Refuse to commit what a failed statement has undone: PostgreSQL would roll back silently."""
    driver = connection.connection.driver_connection
    if driver is not None and driver.info.transaction_status == TRANSACTION_STATUS_INERROR:
        _roll_back(connection)
        raise AssertionError("a statement failed inside the transaction and nobody passed it on")


def _roll_back(connection: Connection) -> None:
    """Undo; a connection that cannot even do that is thrown away, and the server undoes it."""
    if connection.invalidated:
        # It broke, and is thrown away already: a statement on it would hide that error.
        return
    try:
        connection.execute(_ROLLBACK)
    except DBAPIError:
        connection.invalidate()


def _refuse_closed(dbapi_connection: Any, _record: Any, _proxy: Any) -> None:
    """Refuse a pooled connection that the server has closed, without a round trip.

    An idle connection has nothing to read; when its socket is readable it is the server's
    farewell, and the pool takes another one.
    """
    try:
        left = has_something_to_read(dbapi_connection)
    except (OSError, ValueError, psycopg2.Error) as error:
        raise DisconnectionError from error
    if left:
        raise DisconnectionError


@contextmanager
def _storable() -> Iterator[None]:
    """Name the text that nobody cleaned: the driver refuses NUL and lone surrogates by ValueError.

    Raises Invalid: it came from outside, such as in an id of a URL.
    """
    try:
        yield
    except ValueError as error:
        if isinstance(error, UnicodeEncodeError) or "NUL" in str(error):
            raise Invalid("the text has a character that cannot be stored") from error
        raise


_AWAY_STATES = ("08", "57P")  # connection exceptions; administrator or crash shutdown
# A lock that was not given in time, a deadlock.
_BUSY_STATES = frozenset({errorcodes.LOCK_NOT_AVAILABLE, errorcodes.DEADLOCK_DETECTED})


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the driver's ways of saying that the server is away into one error."""
    try:
        yield
    except PoolTimeoutError as error:
        raise DatabaseCrowded("every connection of the pool was busy for 10 s") from error
    except (DBAPIError, psycopg2.OperationalError) as error:
        first_line = str(error).splitlines()[0]
        if _state(error) in _BUSY_STATES:
            raise DatabaseBusy(first_line) from error
        if _is_away(error):
            raise DatabaseAway(first_line) from error
        raise


def _state(error: Exception) -> str | None:
    original = error.orig if isinstance(error, DBAPIError) else error
    state: str | None = getattr(original, "pgcode", None)
    return state


def _is_away(error: Exception) -> bool:
    state = _state(error)
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    if not isinstance(error, OperationalError | InterfaceError | psycopg2.OperationalError):
        # A server that crashes within a statement is reported as a plain DatabaseError, caught
        # above; every other class is about the statement.
        return False
    return state is None or state.startswith(_AWAY_STATES)
