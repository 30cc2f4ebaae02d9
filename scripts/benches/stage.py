"""Everything that one bench runs, on loopback and in a home of its own: start it, end it."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from redis import Redis

from habakkuk.accounts.service import Accounts
from habakkuk.accounts.types import Scope
from habakkuk.core.redis import blocking_client
from habakkuk.db.engine import Database
from habakkuk.ops.home import HomeFolder, data_folder
from habakkuk.ops.processes import ROOT
from habakkuk.ops.run_file import RunFile, read_run
from scripts.benches import proxy
from scripts.benches.client import Target
from scripts.harness.environment import plain_environment
from scripts.harness.http import Api
from scripts.harness.programs import Program, free_port
from scripts.harness.records import Records

START_SECONDS = 90.0
_STOP_SECONDS = 40.0
_POLL_SECONDS = 0.01
_TOOLSETS = "scripts.benches.toolset"
_CONFIG = """
providers:
  bench: {{type: openai, base_url: "http://127.0.0.1:{port}/v1", api_key_env: BENCH_KEY}}
agents:
  habakkuk: {{model: bench/instant, permissions: full}}
  slow: {{model: bench/slow, permissions: full}}
  held: {{model: bench/held, permissions: full}}
  long: {{model: bench/long, permissions: full}}
  tools: {{model: bench/instant, permissions: full, toolsets: [core, bench], compact_at: -1}}
  summed: {{model: bench/instant, permissions: full, compact_at: 150000}}
  summedslow: {{model: bench/slow, permissions: full, compact_at: 150000}}
  caller: {{model: bench/caller, permissions: full}}
  asker: {{model: bench/asker, permissions: ask}}
"""


class NotReady(Exception):
    """Something that the bench started did not come up; the message has its last words."""


class Stage:
    """The fake model, the bare proxy, and Habakkuk as `up` runs it."""

    def __init__(self) -> None:
        """Make the folder and choose the ports; nothing runs yet."""
        self._folder = Path(tempfile.mkdtemp(prefix="hab-bench-"))
        self.home = self._folder / "home"
        self.home.mkdir(mode=0o700)
        # As root, `up` keeps the databases' files elsewhere.
        self._data = data_folder(HomeFolder(self.home))
        self.model_port, self.bare_port, self.port = free_port(), free_port(), free_port()
        self.token = ""
        self.starts: list[float] = []
        self.model: Program | None = None
        self.bare: Program | None = None
        self._up: Program | None = None
        self._run: RunFile | None = None
        self._records: Records | None = None
        (self.home / "config.yaml").write_text(_CONFIG.format(port=self.model_port))

    def __enter__(self) -> Self:
        """Start the model, the proxy and `up`. Raises NotReady."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End everything and remove it."""
        self.close()

    @property
    def run(self) -> RunFile:
        """What `up` says of itself."""
        if self._run is None:
            raise NotReady("`up` does not run")
        return self._run

    @property
    def records(self) -> Records:
        """The database seen from outside."""
        if self._records is None:
            raise NotReady("`up` does not run")
        return self._records

    @property
    def api(self) -> Api:
        """The HTTP surface."""
        return Api(self.port, self.token)

    @property
    def model_api(self) -> Api:
        """The fake model's own surface."""
        return Api(self.model_port, "")

    def redis(self) -> Redis:
        """Return a client of the Valkey that `up` started."""
        return blocking_client(self.run.redis_url or "")

    @property
    def database_url(self) -> str:
        """Where the product's PostgreSQL is."""
        return self.run.database_url or ""

    def product(self, agent: str = "habakkuk") -> Target:
        """Return where Habakkuk's agent is asked."""
        return Target(self.port, f"habakkuk/{agent}", self.token)

    def proxied(self, model: str = "instant") -> Target:
        """Return where the bare proxy is asked."""
        return Target(self.bare_port, model)

    def direct(self, model: str = "instant") -> Target:
        """Return where the model itself is asked."""
        return Target(self.model_port, model)

    def roots(self) -> dict[str, list[int]]:
        """Return the pids of `up`'s children by the kind of process."""
        pids = {name: who.pid for name, who in self.run.processes.items()}
        return {
            "web": [pids["web"]],
            "workers": [pid for name, pid in pids.items() if name.startswith("worker-")],
            "postgresql": [pids["postgresql"]],
            "valkey": [pids["valkey"]],
            "processes": [pids["processes"]],
            "beat": [pids["beat"]],
        }

    def around(self) -> dict[str, list[int]]:
        """Return the pids of what the bench brings itself."""
        programs = {"model": self.model, "bare": self.bare}
        return {name: [program.pid] for name, program in programs.items() if program is not None}

    @property
    def up_pid(self) -> int:
        """The process `up` itself."""
        return self.run.up.pid

    def reread(self) -> None:
        """Read again what runs: `up` starts again what ended."""
        run = read_run(self.home)
        if run is not None:
            self._run = run

    def start_up(self) -> None:
        """Start `up` and note the seconds until it works."""
        began = time.monotonic()
        command = (sys.executable, "-m", "web.cli", "up", "--no-local-model")
        self._up = self._program("up", command)
        self.await_true(self._running, "up", self._up)
        self.starts.append(time.monotonic() - began)
        self.await_true(self._complete, "beat", self._up)
        self._records = Records(self.run.database_url or "")
        if not self.token:
            self.token = self._made_token()

    def stop_up(self) -> None:
        """End `up` and what it runs."""
        if self._records is not None:
            self._records.close()
            self._records = None
        if self._up is not None and self._up.code is None:
            self._up.terminate(_STOP_SECONDS)
        self._up = self._run = None

    def await_true(
        self,
        condition: Callable[[], bool],
        what: str,
        program: Program | None = None,
        seconds: float = START_SECONDS,
    ) -> None:
        """Wait for a condition. Raises NotReady with the program's last words."""
        until = time.monotonic() + seconds
        while not condition():
            ended = program is not None and program.code is not None
            if ended or time.monotonic() > until:
                words = program.last_lines(25) if program is not None else ""
                raise NotReady(f"{what}: not as expected after {seconds:.0f} s\n{words}")
            time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """End every process and remove the folders."""
        self.stop_up()
        for program in (self.bare, self.model):
            if program is not None and program.code is None:
                program.kill()
        shutil.rmtree(self._data, ignore_errors=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        model = (sys.executable, "-m", "scripts.benches.model", str(self.model_port))
        self.model = self._program("model", model)
        url = f"http://127.0.0.1:{self.model_port}"
        self.bare = self._program("bare", proxy.command(self.bare_port, url))
        self.await_true(lambda: _listens(self.model_port), "the fake model", self.model)
        self.await_true(lambda: _listens(self.bare_port), "the bare proxy", self.bare)
        self.start_up()

    def _running(self) -> bool:
        run = read_run(self.home)
        if run is None or run.state != "running":
            return False
        self._run = run
        return True

    def _complete(self) -> bool:
        self.reread()
        return "beat" in self.run.processes

    def _made_token(self) -> str:
        database = Database(self.run.database_url or "", pool_size=1, name="bench")
        try:
            return Accounts(database).create_token("bench", list(Scope))
        finally:
            database.dispose()

    def _program(self, name: str, command: tuple[str, ...]) -> Program:
        """Start a program that ends with the bench, however that ends."""
        tether = (sys.executable, str(ROOT / "habakkuk" / "ops" / "tether.py"), str(os.getpid()))
        environment = plain_environment() | {
            "PYTHONPATH": str(ROOT),
            "HABAKKUK_HOME": str(self.home),
            "HABAKKUK_LISTEN": f"127.0.0.1:{self.port}",
            "HABAKKUK_TEST_TOOLS": _TOOLSETS,
            "BENCH_KEY": "key-of-the-fake-model",
        }
        return Program(name, (*tether, *command), environment, self._folder / f"{name}.log")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
