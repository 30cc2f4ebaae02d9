"""What every test gets: a home of its own, no way out to the network, real servers on demand.

Servers come from the wheels unless HABAKKUK_TEST_DATABASE_URL and HABAKKUK_TEST_REDIS_URL name
others. What is made on such a PostgreSQL is removed at the end; of such a Redis, the databases
from 0 on (one a test process) are emptied.
"""

from __future__ import annotations

import io
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import httpcore2
import pytest
import redis
import structlog
from werkzeug.routing import Rule
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.databases import Databases, empty, end_run, open_databases
from tests.servers import PostgresServer, Server, ValkeyServer

_Build = Callable[..., tuple[str, str]]


def _configured(configure: Callable[..., None], **settings: Any) -> None:
    configure(**settings | {"cache_logger_on_first_use": False})


def _trusting_once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Let clients share what they trust: reading the certificates takes each 80 ms of CPU."""
    kept = cache(lambda trust_env, *_places: make(_trust_env=trust_env))
    places = ("SSL_CERT_FILE", "SSL_CERT_DIR")
    return lambda *, _trust_env=True: kept(_trust_env, *map(os.environ.get, places))


def _building_once(make: Callable[[Rule, bool], _Build]) -> Callable[..., _Build]:
    """Let applications share what builds their addresses: it takes each 50 ms of CPU to compile."""
    kept: dict[tuple[object, ...], _Build] = {}

    def build(rule: Rule, append_unknown: bool = True) -> _Build:
        if rule.defaults:
            return make(rule, append_unknown)
        # Without defaults it is made of these alone.
        key = (rule.rule, tuple(rule._trace), append_unknown)
        if key not in kept:
            kept[key] = make(rule, append_unknown)
        return kept[key]

    return build


_ROOT = Path(__file__).parent
httpcore2.default_ssl_context = _trusting_once(httpcore2.default_ssl_context)
Rule._compile_builder = _building_once(Rule._compile_builder)  # type: ignore[method-assign] # its only caller


class _Stderr(io.TextIOBase):
    """The stderr of whichever test runs: pytest gives each another."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


_LOGGERS = structlog.PrintLoggerFactory(cast("TextIO", _Stderr()))
# What a command prints is compared: the logs of a server in the same process stay out of it.
structlog.configure(logger_factory=_LOGGERS)
# A logger that keeps its first configuration would keep that of one test for all later ones.
structlog.configure = partial(_configured, structlog.configure)
_LOOPBACK = ["127.0.0.1", "::1"]
_SERVERS = {"databases", "redis_url", "redis_server", "postgres_server"}
_DATABASE_URL = os.environ.get("HABAKKUK_TEST_DATABASE_URL")
_REDIS_URL = os.environ.get("HABAKKUK_TEST_REDIS_URL")
_WORKER = os.environ.get("PYTEST_XDIST_WORKER")
# The tests alone keep a machine busy: workers that let them go first would stand still.
_NICENESS = "HABAKKUK_WORKER_NICENESS"
os.environ[_NICENESS] = "0"

# Tests that share something dear to make, a world or a browser: what a pattern finds of their names
# stays in one process.
_SHARING = (
    r"tests/e2e/",
    r"tests/browser/\w+",
    r"tests/crash/test_(?=frozen|worker_killed)",
    r"tests/integration/jobs/test_processes",
    r"tests/integration/ops/test_(up|databases)",
    r"tests/integration/scripts/test_bench",
)

Kind = TypeVar("Kind", bound=Server)


class _Sharing(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist ships no types
    """Gives each process the next test, or the next whole group of those that share something.

    The groups that pytest-xdist has itself do nothing with pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        found = (re.match(pattern, nodeid) for pattern in _SHARING)
        return next((match[0] for match in found if match), nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Sharing:
    """Share the tests out our way, however many processes there are."""
    return _Sharing(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Open the network where it is needed, and let processes share the work well."""
    _open_loopback(items)
    if _WORKER is not None:
        # What takes long begins first, or everybody would wait for it at the end.
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def _open_loopback(items: list[pytest.Item]) -> None:
    """Open loopback to all but the unit tests: setup.cfg closes the network for every test."""
    for item in items:
        suite = item.path.relative_to(_ROOT).parts[0]
        if suite != "unit":
            item.add_marker(pytest.mark.allow_hosts(_LOOPBACK))
        elif servers := _SERVERS.intersection(getattr(item, "fixturenames", ())):
            raise pytest.UsageError(
                f"{item.nodeid} takes {', '.join(servers)}: a test with a server belongs under"
                " tests/integration or tests/contract"
            )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Clean a server that outlives this run, once, when its test processes are done."""
    if not hasattr(config, "workerinput"):
        end_run(_DATABASE_URL)


@pytest.fixture(autouse=True)
def _own_logs() -> Iterator[None]:
    """Let no test that sets up logs, as a process does at its start, do so for the others."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()
    structlog.configure(logger_factory=_LOGGERS)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HABAKKUK_HOME of this test, empty; nothing of the developer's own settings is seen."""
    for name in list(os.environ):
        if name == _NICENESS:
            continue
        if name.startswith("HABAKKUK_") or name.endswith(("_API_KEY", "_API_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("HABAKKUK_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def databases() -> Databases:
    """The PostgreSQL server of this test run."""
    return open_databases(_DATABASE_URL)


@pytest.fixture(scope="session")
def database_url(databases: Databases) -> str:
    """A migrated database of this test process, emptied before each test that takes it."""
    return databases.create()


@pytest.fixture
def fresh_database_url(databases: Databases) -> Iterator[str]:
    """A new migrated database for this test alone, for tests that run whole processes."""
    url = databases.create()
    yield url
    databases.drop(url)


@pytest.fixture
def empty_database_url(databases: Databases) -> Iterator[str]:
    """A new database without a schema, for this test alone."""
    url = databases.create(migrated=False)
    yield url
    databases.drop(url)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis of this test process, emptied before each test that takes it."""
    if _REDIS_URL is not None:
        number = (_WORKER or "gw0").removeprefix("gw")
        yield f"{_REDIS_URL.rstrip('/')}/{number}"
        return
    for server in _running(ValkeyServer):
        yield server.url()


@pytest.fixture
def redis_server() -> Iterator[ValkeyServer]:
    """A running Redis for this test alone, which it may stop, freeze, kill and start again."""
    yield from _running(ValkeyServer)


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """A running, empty PostgreSQL for this test alone, which it may stop, kill and start again."""
    yield from _running(PostgresServer)


@pytest.fixture(autouse=True)
def _empty_stores(request: pytest.FixtureRequest) -> None:
    """Empty what the test takes before it, so that a failed test's rows can be looked at."""
    if "database_url" in request.fixturenames:
        empty(request.getfixturevalue("database_url"))
    if "redis_url" in request.fixturenames:
        client = redis.Redis.from_url(request.getfixturevalue("redis_url"), socket_timeout=5)
        client.flushdb()
        client.close()


def _running(kind: type[Kind]) -> Iterator[Kind]:
    # pytest's folders are closed to the servers' user, and a socket's path may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="hab-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        server = kind(folder)
        server.start()
        yield server
        server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
