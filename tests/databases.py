"""The databases of one test run: made from a migrated template, so that each is there at once.

All processes of a run (pytest-xdist starts several) share one server. The first that needs it
starts it, and it ends with the run.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psutil
import psycopg2
from psycopg2 import extensions

from tests.servers import plain_url

_ROOT = Path(__file__).parent.parent
_LEFT = """
    SELECT pid, state, query FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_TABLES = """
    SELECT string_agg(quote_ident(tablename), ', '),
           string_agg(format('d%s AS (DELETE FROM %I)', n, tablename), ', ')
    FROM (
        SELECT tablename, row_number() OVER () AS n FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'alembic_version'
    ) t
"""
# Those that belong to a column, as TRUNCATE … RESTART IDENTITY does.
_RESTART = """
    SELECT setval(CAST(d.objid AS regclass), 1, false) FROM pg_depend d
    JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
    WHERE d.classid = CAST('pg_class' AS regclass) AND d.deptype IN ('a', 'i')
"""


class Databases:
    """Makes and drops databases on one server."""

    def __init__(self, server_url: str, run: str) -> None:
        """Take the URL of any database of the server; `run` stands in every name."""
        self._base, _, self._query = server_url.partition("?")
        self._base = self._base.rpartition("/")[0]
        self._server_url = server_url
        self._template = f"habakkuk_template_{run}"
        self._prefix = f"habakkuk_test_{run}_{os.getpid()}"
        self._made = 0

    def url(self, name: str) -> str:
        """Return the URL of a database."""
        return f"{self._base}/{name}" + (f"?{self._query}" if self._query else "")

    def prepare(self) -> None:
        """Make the migrated template when nobody has yet. Callers hold the run's lock."""
        # Migrations are what only some tests need; the others must not fail with them.
        from habakkuk.db.migrate import migrate

        if self._run("SELECT 1 FROM pg_database WHERE datname = %s", self._template):
            return
        making = f"{self._template}_making"
        self._run(f'DROP DATABASE IF EXISTS "{making}"')
        self._run(f'CREATE DATABASE "{making}"')
        migrate(self.url(making))
        self._run(f'ALTER DATABASE "{making}" RENAME TO "{self._template}"')

    def create(self, *, migrated: bool = True) -> str:
        """Make a database and return its URL."""
        name = f"{self._prefix}_{self._made}"
        template = self._template if migrated else "template0"
        self._made += 1
        self._run(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is connected to it."""
        name = url.partition("?")[0].rpartition("/")[2]
        self._run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _run(self, statement: str, *values: str) -> list[tuple[object, ...]]:
        with connected(self._server_url) as connection, connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall()) if cursor.description else []


def open_databases(server_url: str | None) -> Databases:
    """Return the run's databases, on the server named or on one from the wheel."""
    owner = _run_owner()
    folder = _run_folder(owner)
    folder.mkdir(mode=0o711, exist_ok=True)
    folder.chmod(0o711)
    if folder.stat().st_uid != os.geteuid():
        raise RuntimeError(f"{folder} belongs to another user; remove it")
    with _locked(folder / "lock"):
        databases = Databases(server_url or _shared_server(folder, owner), folder.name[4:])
        databases.prepare()
    return databases


def end_run(server_url: str | None) -> None:
    """Remove what the run made and no process of its own will. Called by the run's owner."""
    folder = _run_folder(psutil.Process())
    if not folder.exists() or (folder / "url").exists():
        return
    if server_url is not None:
        _drop_databases(server_url, folder.name[4:])
    shutil.rmtree(folder)


def _drop_databases(server_url: str, run: str) -> None:
    with connected(server_url) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE %s",
            (f"habakkuk\\_te%\\_{run.replace('_', '%')}%",),
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def empty(url: str) -> None:
    """Empty every table but alembic's own, and start their counters again.

    Fails, and says what runs there, when something of an earlier test still holds a table.
    """
    try:
        _empty(_kept(url))
    except (psycopg2.OperationalError, psycopg2.InterfaceError):
        # A test ended it, as one of all the database's connections.
        _kept.cache_clear()
        _empty(_kept(url))


@cache
def _kept(url: str) -> extensions.connection:
    """Return a connection for all tests: one that is new learns of each table first, for 25 ms."""
    return psycopg2.connect(plain_url(url), application_name="habakkuk tests")


def _empty(connection: extensions.connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        ((tables, deletes),) = cursor.fetchall()
        if tables is None:
            connection.rollback()
            return
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        try:
            cursor.execute(f"LOCK TABLE {tables}")
        except psycopg2.errors.LockNotAvailable as error:
            connection.rollback()
            cursor.execute(_LEFT)
            left = cursor.fetchall()
            connection.rollback()
            raise RuntimeError(f"an earlier test left this behind: {left}") from error
        # TRUNCATE makes new files for every table and index: it costs fifty times as much.
        cursor.execute(f"WITH {deletes} {_RESTART}")
        connection.commit()


def _run_owner() -> psutil.Process:
    """Return the process that this run belongs to: pytest-xdist's workers are its children."""
    process = psutil.Process()
    return process.parents()[0] if "PYTEST_XDIST_WORKER" in os.environ else process


def _run_folder(owner: psutil.Process) -> Path:
    """Return the run's folder. The start time tells apart two processes that had the same id."""
    return Path("/tmp") / f"hab-{owner.pid}_{int(owner.create_time() * 100) % 10_000_000}"


def _shared_server(folder: Path, owner: psutil.Process) -> str:
    """Return the URL of the run's own server, starting it when nobody has yet."""
    stored = folder / "url"
    if not stored.exists():
        command = [sys.executable, "-m", "tests.servers", str(folder), str(owner.pid)]
        if subprocess.run(command, cwd=_ROOT, check=False).returncode != 0:
            raise RuntimeError(f"no PostgreSQL for the tests:\n{(folder / 'log').read_text()}")
    return stored.read_text()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def connected(url: str) -> Iterator[extensions.connection]:
    """Connect with every statement its own transaction: databases are made outside of one."""
    connection = psycopg2.connect(plain_url(url))
    connection.autocommit = True
    try:
        yield connection
    finally:
        connection.close()
