"""The embedded PostgreSQL: made at the first start, adopted when it runs already."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.account import ServiceUser
from habakkuk.ops.binaries import Binary
from habakkuk.ops.home import last_lines
from habakkuk.ops.identity import ProcessIdentity, identify
from habakkuk.ops.spawn import PLAIN_VARIABLES, Program, run_tool
from habakkuk.ops.unit import Unit

_NAME = "habakkuk"  # of the role and of the database
_PORT = 5432  # names the socket; no TCP port is opened
_START_SECONDS = 60.0
_BUILTIN_LOCALE_SINCE = 17
_STATUS_LINE = 7  # of postmaster.pid (PostgreSQL: src/include/utils/pidfile.h)
_SOCKET_LINE = 4

# How long a session may idle or wait is set for each connection by habakkuk.db, not here.
_SERVER_SETTINGS = {
    "listen_addresses": "",
    "port": str(_PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "300",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "logging_collector": "off",
    "cluster_name": "habakkuk",
}


@dataclass(frozen=True)
class PostgresPlace:
    """Where one embedded PostgreSQL lives and as whom."""

    data: Path
    sockets: Path
    user: ServiceUser | None


class PostgresServer(Unit):
    """One PostgreSQL on a unix socket, with no TCP port."""

    may_hurry = False
    end_signal = signal.SIGINT  # "fast": open transactions are rolled back, sessions ended

    def __init__(self, binary: Binary, place: PostgresPlace, log: Path) -> None:
        """Take the program and the place; nothing is started."""
        super().__init__("postgresql", log)
        self._binary = binary
        self._place = place

    @property
    def url(self) -> str:
        """The database's URL for SQLAlchemy with psycopg2."""
        host = quote(str(self._place.sockets), safe="/")
        return f"postgresql+psycopg2://{_NAME}@/{_NAME}?host={host}"

    def start(self) -> None:
        """Make the data folder when missing, start or adopt the server, wait until it answers."""
        if not self._place.data.exists():
            self._create()
        deadline = time.monotonic() + _START_SECONDS
        running = self._running()
        if running is not None and self._socket_line() == str(self._place.sockets):
            self._adopt(running)
            self._wait_until_ready(deadline)
            return
        if running is not None:
            self._end_misplaced(running)
        self._forget_dead_one()
        self._launch_until_ready(deadline)

    def kill(self) -> None:
        """End it without a last checkpoint: the next start replays its log. Nothing is lost."""
        if self.identity is not None:
            self.identity.send(signal.SIGQUIT)

    def _create(self) -> None:
        """Make the cluster and its database beside its place and move it there when complete.

        So a kill in between leaves nothing half made. Trust needs no password: the socket's
        folder lets only its user in, and no TCP port is open.
        """
        data = self._place.data
        fresh = data.with_name(f"{data.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        if self._place.user is not None:
            os.chown(fresh, self._place.user.uid, self._place.user.gid)
        self._tool("initdb", ["-D", str(fresh), "-U", _NAME, "-A", "trust", *self._locale()])
        single = ["--single", "-D", str(fresh), "-c", "log_min_messages=fatal", "postgres"]
        self._tool("postgres", single, given=f"CREATE DATABASE {_NAME}\n")
        fresh.rename(data)

    def _locale(self) -> Sequence[str]:
        """Sort and fold by PostgreSQL's own rules where it has them.

        The system's rules change with the C library, and then text indexes are silently wrong.
        """
        common = ["--encoding=UTF8", "--locale=C", "--no-instructions"]
        if self._binary.major < _BUILTIN_LOCALE_SINCE:
            return common
        return [*common, "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]

    def _tool(self, name: str, arguments: Sequence[str], given: str = "") -> None:
        program = self._program([str(self._binary.path.with_name(name)), *arguments])
        try:
            code, said = run_tool(program, given=given)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigurationError(f"PostgreSQL's {name} does not run: {error}") from error
        if code != 0:
            reason = " ".join(said.strip().splitlines()[-2:])
            raise ConfigurationError(f"PostgreSQL's {name} could not make its data: {reason}")

    def _program(self, arguments: Sequence[str]) -> Program:
        return Program(arguments, self._place.data.parent, PLAIN_VARIABLES, self._place.user)

    def _command(self) -> list[str]:
        settings = _SERVER_SETTINGS | {"unix_socket_directories": str(self._place.sockets)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [str(self._binary.path), "-D", str(self._place.data), *options]

    def _pid_file(self) -> list[str]:
        try:
            return (self._place.data / "postmaster.pid").read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []

    def _running(self) -> ProcessIdentity | None:
        """Return the server that runs on this data, whoever started it.

        The pid in postmaster.pid may have been given to another program since.
        """
        lines = self._pid_file()
        if not lines or not lines[0].strip().isdigit():
            return None
        identity = identify(int(lines[0]))
        if identity is None or str(self._place.data) not in identity.arguments():
            return None
        return identity

    def _socket_line(self) -> str:
        lines = self._pid_file()
        return lines[_SOCKET_LINE].strip() if len(lines) > _SOCKET_LINE else ""

    def _ready(self) -> bool:
        lines = self._pid_file()
        return len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready"

    def _end_misplaced(self, running: ProcessIdentity) -> None:
        """End a server whose sockets lie elsewhere: the home was moved, or named another way."""
        running.send(signal.SIGINT)
        if not running.wait(30):
            running.send(signal.SIGQUIT)
            running.wait(30)

    def _forget_dead_one(self) -> None:
        """Remove what a killed server left: PostgreSQL would believe a reused pid to be its own."""
        (self._place.data / "postmaster.pid").unlink(missing_ok=True)
        for path in self._place.sockets.glob(f".s.PGSQL.{_PORT}*"):
            path.unlink(missing_ok=True)

    def _launch_until_ready(self, deadline: float) -> None:
        """Start; again while the sessions of a killed server still hold its shared memory."""
        while True:
            self._launch(self._program(self._command()))
            reason = self._wait_until_ready(deadline, raising=False)
            if reason is None:
                return
            held = any("shared memory block" in line for line in last_lines(self.log))
            if not held or time.monotonic() > deadline:
                raise ConfigurationError(f"PostgreSQL {reason}: {self._last_words()}")
            time.sleep(0.2)

    def _wait_until_ready(self, deadline: float, *, raising: bool = True) -> str | None:
        while not self._ready():
            reason = self.ended()
            if reason is None and time.monotonic() > deadline:
                reason = f"was not ready within {_START_SECONDS:.0f} s"
            if reason is not None and raising:
                raise ConfigurationError(f"PostgreSQL {reason}: {self._last_words()}")
            if reason is not None:
                return reason
            time.sleep(0.01)
        return None

    def _last_words(self) -> str:
        lines = last_lines(self.log)
        fatal = [line for line in lines if "FATAL" in line or "PANIC" in line] or lines[-1:]
        return f"{fatal[-1] if fatal else 'it said nothing'} (its log: {self.log})"
