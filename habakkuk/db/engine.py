"""The one database engine of a process.

Two ways in: `run` for a single statement, which is its own transaction, and `transaction` for
several. Neither may be open over a network call; the server ends an idle transaction after 10 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

import orjson
import psycopg2
import psycopg2.extensions
import psycopg2.extras
from psycopg2 import errorcodes
from psycopg2.extensions import TRANSACTION_STATUS_IDLE, TRANSACTION_STATUS_INERROR
from sqlalchemy import TextClause
from sqlalchemy.engine import make_url
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from habakkuk.core.errors import Invalid, Unavailable
from habakkuk.db.cooperate import has_something_to_read
from habakkuk.db.statements import Prepared, Rows, prepared

# A frozen process inside a transaction keeps its row locks until the server ends it (10 s), a lock
# held longer than 5 s is a fault, and no statement of ours takes 30 s.
IDLE_SECONDS = 10.0
_SERVER_OPTIONS = (
    "-c idle_in_transaction_session_timeout={idle} -c lock_timeout=5000 -c statement_timeout=30000"
    # Ours are short, and a compiled plan would be compiled again at each execution.
    " -c jit=off"
)
_CONNECT_ARGS: dict[str, Any] = {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
_POOL_SECONDS = 10.0
_PREPARED = "prepared"
_BEGIN = "BEGIN"
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"

# A statement with its parameters.
Call = tuple[TextClause, Mapping[str, Any]]

psycopg2.extras.register_default_json(globally=True, loads=orjson.loads)
psycopg2.extras.register_default_jsonb(globally=True, loads=orjson.loads)


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


class _Session:
    """A borrowed connection: prepares what it runs, sends what was put off with what follows."""

    def __init__(self, borrowed: PoolProxiedConnection) -> None:
        self._known: set[str] = borrowed.info.setdefault(_PREPARED, set())
        driver: Any = borrowed.driver_connection
        self.driver: psycopg2.extensions.connection = driver
        self._ahead: list[bytes | str] = []

    def put_off(self, statement: str | Prepared, params: Mapping[str, Any] | None = None) -> None:
        """Keep a statement for the next round trip."""
        if isinstance(statement, str):
            self._ahead.append(statement)
            return
        with self.driver.cursor() as cursor:
            self._prepare(cursor, statement)
            self._ahead.append(cursor.mogrify(statement.execute, statement.arguments(params or {})))

    def run(self, statement: Prepared, params: Mapping[str, Any]) -> Rows:
        """Run what was put off and then `statement`, in one round trip; return its rows."""
        with self.driver.cursor() as cursor:
            self._prepare(cursor, statement)
            if self._ahead:
                last = cursor.mogrify(statement.execute, statement.arguments(params))
                cursor.execute(self._joined(last))
            else:
                cursor.execute(statement.execute, statement.arguments(params))
            return statement.rows(cursor)

    def say(self, word: str) -> None:
        """Send what was put off and then COMMIT or ROLLBACK."""
        with self.driver.cursor() as cursor:
            cursor.execute(self._joined(word))

    def forget(self) -> None:
        """Drop what was put off."""
        self._ahead = []

    def _prepare(self, cursor: psycopg2.extensions.cursor, statement: Prepared) -> None:
        if statement.prepare is not None and statement.name not in self._known:
            cursor.execute(statement.prepare)
            self._known.add(statement.name)

    def _joined(self, last: bytes | str) -> bytes:
        parts, self._ahead = [*self._ahead, last], []
        return b"; ".join(part if isinstance(part, bytes) else part.encode() for part in parts)


class Work:
    """One open transaction. What must wait for its commit is given to `after_commit`."""

    def __init__(self, session: _Session, begin: str = _BEGIN) -> None:
        """Wrap the connection; only stores may look inside."""
        self._session = session
        self._how = begin
        self._callbacks: list[Callable[[], None]] = []
        self.begun = False

    def execute(self, statement: TextClause, **params: Any) -> Rows:
        """Run one statement in this transaction."""
        self._begin()
        with _storable():
            return self._session.run(prepared(statement), params)

    def defer(self, statement: TextClause, **params: Any) -> None:
        """Run one statement, of which nothing is to be known, with the next one or the commit.

        It sees what that one sees of its own accord: each of them takes a snapshot of its own.
        """
        self._begin()
        with _storable():
            self._session.put_off(prepared(statement), params)

    def execute_many(self, statement: TextClause, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run one statement for each row of parameters, in one round trip with what follows."""
        for row in rows:
            self.defer(statement, **row)

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Run `callback` once the transaction is committed; it must not raise."""
        self._callbacks.append(callback)

    def committed(self) -> None:
        """Run the callbacks; called by Database alone."""
        for callback in self._callbacks:
            callback()

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            self._session.put_off(self._how)


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
        self._disposed = False
        options = _SERVER_OPTIONS.format(idle=int(idle_seconds * 1000))
        connect: Callable[[], Any] = partial(_connect, url, name, {"options": options})
        self._pool = QueuePool(
            connect,
            pool_size=pool_size,
            max_overflow=0,
            timeout=_POOL_SECONDS,
            # All are in autocommit, and a transaction says BEGIN and COMMIT itself.
            reset_on_return=None,
            # The one used last knows its statements and has its tables at hand.
            use_lifo=True,
        )

    def snapshot(self) -> AbstractContextManager[Work]:
        """Open a transaction that only reads: all as it was at its first statement.

        Nobody waits for it, however long it reads. Raises DatabaseAway.
        """
        return self.transaction(_SNAPSHOT)

    @contextmanager
    def transaction(self, begin: str = _BEGIN) -> Iterator[Work]:
        """Open a transaction: commit at the end, roll back on any exception.

        Raises DatabaseAway when the server is not there. When that happens in the commit itself
        the outcome is unknown: ids and unique keys make the repetition harmless.
        """
        with self._borrowed() as session:
            work = Work(session, begin)
            try:
                yield work
                if work.begun:
                    _refuse_aborted(session)
                    session.say("COMMIT")
            except BaseException:
                _roll_back(session)
                raise
        work.committed()

    def run(self, statement: TextClause, **params: Any) -> Rows:
        """Run one statement as its own transaction and return its rows."""
        return self.run_after((), statement, **params)

    def run_after(self, first: Sequence[Call], statement: TextClause, **params: Any) -> Rows:
        """Run statements in one transaction and one round trip; return the rows of the last."""
        with self._borrowed() as session, _storable():
            for other, others_params in first:
                session.put_off(prepared(other), others_params)
            return session.run(prepared(statement), params)

    @contextmanager
    def _borrowed(self) -> Iterator[_Session]:
        """Lend a connection of the pool; one that broke is not given back."""
        with _translated():
            borrowed = self._open_connection()
            try:
                session = _Session(borrowed)
                yield session
            except BaseException as error:
                # Whatever state an error left it in, the next one may not find it there.
                if not _is_idle(borrowed) or _is_outdated(error):
                    borrowed.invalidate()
                raise
            finally:
                if self._disposed:
                    # It was on loan when the pool was closed.
                    borrowed.invalidate()
                borrowed.close()

    def _open_connection(self) -> PoolProxiedConnection:
        """Return a connection of the pool that the server has not closed meanwhile."""
        while True:
            borrowed = self._pool.connect()
            if not _has_ended(borrowed.driver_connection):
                return borrowed
            borrowed.invalidate()
            borrowed.close()

    def connect_alone(self, name: str) -> psycopg2.extensions.connection:
        """Return a driver connection outside the pool, in autocommit: for LISTEN and presence.

        Its server settings are the defaults: it may be idle for days.
        """
        with _translated():
            return _connect(self._url, name, {})

    def beside(self, name: str, *, idle_seconds: float = IDLE_SECONDS) -> Database:
        """Return a pool of one connection beside this one, for work that may not queue for it."""
        return Database(self._url, pool_size=1, name=name, idle_seconds=idle_seconds)

    def dispose(self) -> None:
        """Close the pool; what is on loan is closed when it comes back."""
        self._disposed = True
        self._pool.dispose()


def _connect(url: str, name: str, more: Mapping[str, Any]) -> psycopg2.extensions.connection:
    """Open a connection in autocommit."""
    parts = make_url(url)
    options = parts.translate_connect_args(username="user", database="dbname")
    args = _CONNECT_ARGS | options | dict(parts.query) | {"application_name": name} | dict(more)
    connection: psycopg2.extensions.connection = psycopg2.connect(**args)
    connection.autocommit = True
    return connection


def _refuse_aborted(session: _Session) -> None:
    """Refuse to commit what a failed statement has undone: PostgreSQL would roll back silently."""
    if session.driver.info.transaction_status == TRANSACTION_STATUS_INERROR:
        raise AssertionError("a statement failed inside the transaction and nobody passed it on")


def _roll_back(session: _Session) -> None:
    """Undo; a connection that cannot even do that is thrown away, and the server undoes it."""
    session.forget()
    if session.driver.closed or session.driver.info.transaction_status == TRANSACTION_STATUS_IDLE:
        # It broke, or nothing was sent: another error here would hide the first.
        return
    with suppress(psycopg2.Error):
        session.say("ROLLBACK")


def _is_idle(borrowed: PoolProxiedConnection) -> bool:
    driver: Any = borrowed.driver_connection
    return (
        driver is not None
        and not driver.closed
        and driver.info.transaction_status == TRANSACTION_STATUS_IDLE
    )


def _is_outdated(error: BaseException) -> bool:
    """Whether a prepared statement is not what it was: a table changed under it, or it is gone."""
    return isinstance(error, psycopg2.Error) and error.pgcode in _OUTDATED_STATES


def _has_ended(driver: Any) -> bool:
    """Whether the server has closed a pooled connection, without a round trip.

    An idle connection has nothing to read; when its socket is readable it is the server's
    farewell, and the pool takes another one.
    """
    try:
        return has_something_to_read(driver)
    except (OSError, ValueError, psycopg2.Error):
        return True


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


# "cached plan must not change result type"; the statement of that name does not exist.
_OUTDATED_STATES = frozenset(
    {errorcodes.FEATURE_NOT_SUPPORTED, errorcodes.INVALID_SQL_STATEMENT_NAME}
)
_AWAY_STATES = ("08", "57P")  # connection exceptions; administrator or crash shutdown
# A lock that was not given in time, a deadlock.
_BUSY_STATES = frozenset({errorcodes.LOCK_NOT_AVAILABLE, errorcodes.DEADLOCK_DETECTED})


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the driver's ways of saying that the server is away into one error."""
    try:
        yield
    except PoolTimeoutError as error:
        seconds = f"{_POOL_SECONDS:.0f} s"
        raise DatabaseCrowded(f"every connection of the pool was busy for {seconds}") from error
    except psycopg2.Error as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        if error.pgcode in _BUSY_STATES:
            raise DatabaseBusy(first_line) from error
        if _is_away(error):
            raise DatabaseAway(first_line) from error
        raise


def _is_away(error: psycopg2.Error) -> bool:
    state = error.pgcode
    if state is not None:
        return state.startswith(_AWAY_STATES)
    # A server that crashes within a statement is reported as a plain DatabaseError.
    return isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError) or (
        type(error) is psycopg2.DatabaseError
    )
