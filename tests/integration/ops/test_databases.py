"""The embedded databases: made, adopted, and back after every kind of kill."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from sqlalchemy.engine import make_url

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import load_settings
from habakkuk.ops.databases import Databases, prepare_databases
from habakkuk.ops.home import data_folder, prepare_home
from habakkuk.ops.identity import ProcessIdentity
from habakkuk.ops.unit import Unit

ROOT = Path(__file__).parents[3]


class Place:
    """A home and the servers that were started for it."""

    def __init__(self, root: Path) -> None:
        self.home = prepare_home(root)
        self.data = data_folder(self.home)
        self._started: list[Unit] = []

    def prepare(self, **variables: str) -> Databases:
        environment = {"PATH": os.environ["PATH"], "HABAKKUK_HOME": str(self.home.root)}
        settings = load_settings(read_environment(environment | variables))
        return prepare_databases(settings, self.home)

    def start(self) -> Databases:
        databases = self.prepare()
        for server in databases.servers:
            self._started.append(server)
            server.start()
        return databases

    def close(self) -> None:
        for server in self._started:
            if server.ended() is None:
                end(server)
            server.ended()


def made_place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="hab-ops-", dir="/tmp"))
    made = Place(folder / "home")
    yield made
    made.close()
    shutil.rmtree(folder)
    shutil.rmtree(made.data, ignore_errors=True)


@pytest.fixture
def place() -> Iterator[Place]:
    """A home with a short path, and no trace of it afterwards."""
    yield from made_place()


@pytest.fixture(scope="module")
def running() -> Iterator[Databases]:
    """Databases that run, for tests that only look at them."""
    for place in made_place():
        yield place.start()


def end(server: Unit) -> None:
    identity = identity_of(server)
    server.ask_to_end()
    if not identity.wait(20):
        identity.send(signal.SIGKILL)
        assert identity.wait(20)
    # Dead is not yet reaped, when it is a child of this process.
    if server._process is not None:
        server._process.wait()


def reason_of(server: Unit) -> str:
    deadline = time.monotonic() + 30
    while (reason := server.ended()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return reason


def identity_of(server: Unit) -> ProcessIdentity:
    assert server.identity is not None
    return server.identity


def query(databases: Databases, sql: str) -> str:
    url = make_url(databases.database_url)
    connection = psycopg2.connect(user=url.username, dbname=url.database, host=url.query["host"])
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(sql)
            row = cursor.fetchone() if cursor.description else None
            return str(row[0]) if row else ""
    finally:
        connection.close()


def command(databases: Databases, *words: str) -> bytes:
    path = databases.redis_url.removeprefix("unix://").partition("?")[0]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        line.sendall((" ".join(words) + "\r\n").encode())
        return line.recv(4096)


def test_they_keep_what_is_committed_and_listen_on_no_port(running: Databases) -> None:
    settings = {
        name: query(running, f"SHOW {name}")
        for name in ("fsync", "synchronous_commit", "listen_addresses", "max_connections")
    }
    assert settings == {
        "fsync": "on",
        "synchronous_commit": "on",
        "listen_addresses": "",
        "max_connections": "300",
    }
    assert query(running, "SHOW server_encoding") == "UTF8"
    assert b"noeviction" in command(running, "CONFIG", "GET", "maxmemory-policy")
    assert b"yes" in command(running, "CONFIG", "GET", "appendonly")


def test_only_their_user_gets_to_the_sockets(running: Databases) -> None:
    folder = Path(str(make_url(running.database_url).query["host"]))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user for them")
def test_as_root_they_run_as_a_user_of_their_own(running: Databases) -> None:
    for server in running.servers:
        assert Path(f"/proc/{identity_of(server).pid}").stat().st_uid != 0


STARTER = """
import os, sys
from pathlib import Path
from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import load_settings
from habakkuk.ops.databases import prepare_databases
from habakkuk.ops.home import prepare_home
home = prepare_home(Path(os.environ["HABAKKUK_HOME"]))
for server in prepare_databases(load_settings(read_environment()), home).servers:
    server.start()
    print(server.identity.pid, flush=True)
sys.stdin.read()
"""


def test_those_of_a_killed_starter_are_adopted(place: Place) -> None:
    environment = {**os.environ, "HABAKKUK_HOME": str(place.home.root), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", STARTER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as starter:
        assert starter.stdout is not None
        pids = [int(starter.stdout.readline()) for _ in range(2)]
        starter.kill()

    assert [identity_of(server).pid for server in place.start().servers] == pids


def test_they_start_again_after_kill_9_with_all_that_was_committed(place: Place) -> None:
    databases = place.start()
    query(databases, "CREATE TABLE kept AS SELECT 42 AS n")
    for server in databases.servers:
        identity_of(server).send(signal.SIGKILL)
        assert reason_of(server) == "was killed by SIGKILL"

    assert query(place.start(), "SELECT n FROM kept") == "42"


def test_a_pid_file_that_names_another_program_is_stale(place: Place) -> None:
    postgres = place.start().servers[1]
    path = place.data / "postgresql" / "postmaster.pid"
    lines = path.read_text().splitlines()
    identity_of(postgres).send(signal.SIGKILL)
    reason_of(postgres)
    # A pid that its user may signal: PostgreSQL alone would take it for a running server.
    path.write_text("\n".join([str(os.getpid()), *lines[1:]]))

    again = place.start()

    assert query(again, "SELECT 1") == "1"


def test_a_creation_that_was_killed_leaves_nothing_half_made(place: Place) -> None:
    data = place.data
    data.mkdir(parents=True, exist_ok=True)
    half = data / "postgresql.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")

    assert query(place.start(), "SELECT 1") == "1"


def test_append_only_data_that_cannot_be_read_is_set_aside(place: Place) -> None:
    for server in place.start().servers:
        end(server)
    data = place.data / "valkey"
    next(data.glob("appendonlydir/*.manifest")).write_text("nonsense\n")

    assert command(place.start(), "PING") == b"+PONG\r\n"
    assert list(data.glob("appendonlydir.unreadable-*"))


def test_a_frozen_valkey_is_replaced(place: Place) -> None:
    valkey = place.start().servers[0]
    frozen = identity_of(valkey)
    frozen.send(signal.SIGSTOP)

    databases = place.start()

    assert command(databases, "PING") == b"+PONG\r\n"
    assert identity_of(databases.servers[0]) != frozen


def test_what_the_environment_names_is_not_started(place: Place) -> None:
    databases = place.prepare(DATABASE_URL="postgresql://u@h/d", REDIS_URL="redis://h")

    assert databases.servers == ()
    assert databases.database_url == "postgresql+psycopg2://u@h/d"
    assert databases.redis_url == "redis://h"
