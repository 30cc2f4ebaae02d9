"""Everything that one drill runs, in a folder of its own, on loopback: start it, use it, end it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from habakkuk.accounts.service import Accounts
from habakkuk.accounts.types import Scope
from habakkuk.db.engine import Database
from habakkuk.db.migrate import migrate
from habakkuk.ops import processes
from scripts.drills.accounts import Platforms
from scripts.drills.nursery import Fork, Nursery
from scripts.drills.worker import after_the_module
from scripts.harness.environment import plain_environment
from scripts.harness.http import Api, Cut
from scripts.harness.programs import Program, free_port
from scripts.harness.records import Records
from tests.servers import PostgresServer, ValkeyServer

START_SECONDS = 60.0
TOOLSET = "scripts.drills.toolset"
KEEPER = "scripts.drills.keeper"
CHANNELS = "scripts.drills.channels"
_CONFIG = """
providers:
  drill: {{type: openai, base_url: "http://127.0.0.1:{port}/v1", api_key_env: DRILL_KEY}}
agents:
  habakkuk: {{model: drill/fake-model, permissions: full, compact_at: 3000}}
  careful: {{model: drill/fake-model, permissions: ask, compact_at: 3000}}
workers: {{turns: {turns}}}
{channels}
"""
_DATABASE = "drill"
_SOCKET = ".s.PGSQL.5432"
_HEALTHY = 200


class NotReady(Exception):
    """Something that the drill started did not come up; the message has its last words."""


@dataclass(frozen=True)
class Options:
    """How a world differs from the plain one.

    `web` and `worker` are variables of those processes; `forked` starts workers from a nursery;
    `turns` is how many turns a worker runs at once. `outside` adds beat, and the webhook channel
    with its platforms; `cutter` puts a proxy before PostgreSQL; `lease` is the length of leases in
    seconds, 0 for the product's own. `channels` is more of config.yaml, with what it needs of
    `variables`.
    """

    workers: int = 2
    turns: int = 128
    forked: bool = False
    web: Mapping[str, str] = field(default_factory=dict)
    worker: Mapping[str, str] = field(default_factory=dict)
    keep: bool = False
    outside: bool = False
    cutter: bool = False
    lease: float = 0.0
    channels: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


class World:
    """The databases, the fake model, web and workers of one drill."""

    def __init__(self, options: Options | None = None) -> None:
        """Make the folder and choose the ports; nothing runs yet."""
        self.options = options or Options()
        self.folder = Path(tempfile.mkdtemp(prefix="hab-drill-", dir="/tmp"))
        self.folder.chmod(0o711)
        self.home = self._made("home")
        self.logs = self._made("logs")
        self.fired = self.folder / "fired"
        self.fired.touch()
        self.postgres = PostgresServer(self._made("postgres", 0o711))
        self.valkey = ValkeyServer(self._made("valkey"))
        self.valkey.port = free_port()
        self.database_url = self.postgres.url(_DATABASE)
        self.records = Records(self.database_url)
        self.platforms = Platforms()
        self.platform_api = Api(self.platforms.control, "")
        self.line = self._made("line")
        self.cuts = self.folder / "cuts"
        self.cuts.touch()
        self.beside: dict[str, Program] = {}
        self.model_port = free_port()
        self.web_port = free_port()
        self.web: Program | None = None
        self.workers: dict[str, Program | Fork] = {}
        self._nursery: Nursery | None = None
        self._closing = False
        self._model: Program | None = None
        self._started = 0
        self.environment = self._environment()
        self.api = Api(self.web_port, "")
        self.model_api = Api(self.model_port, "")

    def __enter__(self) -> Self:
        """Start everything and wait until it answers. Raises NotReady."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        self.close()

    def start_web(self, **variables: str) -> None:
        """Start web and wait until it is healthy."""
        spec = processes.web()
        argv = spec.command
        if "DRILL_MUTANT" in variables:
            argv = (*argv[:-1], "scripts.drills.mutants.web:create_app()")
        self.web = self._program("web", argv, {**spec.variables, **variables})
        self.await_true(self.healthy, "web", self.web)

    def start_beat(self) -> None:
        """Start beat; nobody waits for it."""
        self.beside["beat"] = self._program("beat", processes.beat(self.home).command, {})

    def start_worker(self, name: str, **variables: str) -> Program | Fork:
        """Start a worker for every queue and return at once."""
        spec = processes.worker(name)
        arguments = after_the_module(spec.command)
        added = {**spec.variables, **self.options.worker, **variables}
        if self._closing:
            raise NotReady("the drill ends")
        if self._nursery is not None:
            environment = {**self.environment, **added}
            started: Program | Fork = self._nursery.start(
                name, arguments, environment, self._log(name)
            )
        else:
            argv = (sys.executable, "-m", "scripts.drills.worker", *arguments)
            started = self._program(name, argv, added)
        self.workers[name] = started
        return started

    def start_keeper(self, name: str = "processes", **variables: str) -> Program | Fork:
        """Start the service of background processes; return once it is there."""
        if self._closing:
            raise NotReady("the drill ends")
        if self._nursery is not None:
            environment = {**self.environment, **variables}
            started: Program | Fork = self._nursery.start(
                name, (), environment, self._log(name), KEEPER
            )
        else:
            started = self._program(name, (sys.executable, "-m", KEEPER), variables)
        self.workers[name] = started
        self.await_true(self.records.kept, name, started)
        return started

    def start_channels(self) -> Program | Fork:
        """Start the process that listens to platforms; nobody waits for it."""
        if self._closing:
            raise NotReady("the drill ends")
        if self._nursery is None:
            return self._program("channels", (sys.executable, "-m", CHANNELS), {})
        return self._nursery.start(
            "channels", (), self.environment, self._log("channels"), CHANNELS
        )

    def await_workers(self, *names: str) -> None:
        """Wait until these workers take jobs."""
        for name in names:
            program = self.workers[name]
            self.await_true(partial(self._takes_jobs, program.pid), name, program)

    def await_true(
        self, condition: Callable[[], bool], what: str, program: Program | Fork | None = None
    ) -> None:
        """Wait for a condition. Raises NotReady with the program's last words."""
        until = time.monotonic() + START_SECONDS
        while not condition():
            ended = program is not None and program.code is not None
            if ended or time.monotonic() > until:
                words = program.last_lines(25) if program is not None else ""
                raise NotReady(f"{what} is not ready:\n{words}")
            time.sleep(0.02)

    def healthy(self) -> bool:
        """Say whether web answers that all is well, or all but Redis."""
        try:
            return self.api.get("/healthz", timeout=5).status == _HEALTHY
        except Cut:
            return False

    def _platforms_answer(self) -> bool:
        try:
            return self.platform_api.get("/shown").status == _HEALTHY
        except Cut:
            return False

    def _takes_jobs(self, pid: int) -> bool:
        return pid in self.records.alive()

    def effects(self) -> list[str]:
        """Return the marks that tools left, in order."""
        logs = sorted((self.home / "agents").glob("*/workspace/effects.log"))
        return [mark for log in logs for mark in log.read_text().splitlines()]

    def model_seen(self) -> dict[str, Any]:
        """Return what the fake model saw: requests, disconnects, violations."""
        seen: dict[str, Any] = self.model_api.get("/control/requests").body
        return seen

    def model_calls(self, text: str) -> list[float]:
        """Return when the model was asked about a message that has this text in it."""
        return [seen["time"] for seen in self.model_seen()["requests"] if text in seen["text"]]

    def close(self) -> None:
        """End every process and remove the folder."""
        self._closing = True
        programs = [*self.workers.values(), self.web, *self.beside.values(), self._model]
        for program in programs:
            if program is not None and program.code is None:
                program.kill()
        if self._nursery is not None:
            self._nursery.close()
        self._end_the_rest()
        self.records.close()
        self.valkey.kill()
        self.postgres.kill()
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _end_the_rest(self) -> None:
        """End what nobody here knows by now.

        That is the probe that outlived its worker, and what was just being started when the drill
        was interrupted.
        """
        ours = f"HABAKKUK_HOME={self.home}".encode()
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if ours in (place / "environ").read_bytes().split(b"\0"):
                    os.kill(int(place.name), signal.SIGKILL)

    def _start(self) -> None:
        serve = (sys.executable, "-m", "tests.fakes.model_server")
        options = ("--port", str(self.model_port), "--control")
        self._model = self._program("model", (*serve, *options), {})
        self.valkey.start()
        self.postgres.start()
        server = Records(self.postgres.url("postgres"))
        server.execute(f"CREATE DATABASE {_DATABASE}")
        server.close()
        migrate(self.database_url)
        channels = self.platforms.config if self.options.outside else self.options.channels
        (self.home / "config.yaml").write_text(
            _CONFIG.format(port=self.model_port, turns=self.options.turns, channels=channels)
        )
        if self.options.forked:
            self._nursery = Nursery(self.environment, self._log("nursery"), configured=True)
        self.api = Api(self.web_port, self._token())
        if self.options.cutter:
            self._start_cutter()
        if self.options.outside:
            argv = (sys.executable, "-m", "tests.fakes.platform_server", *self.platforms.options)
            platforms = self.beside["platforms"] = self._program("platforms", argv, {})
            self.await_true(self._platforms_answer, "the platforms", platforms)
            self.start_beat()
        self.start_web(**self.options.web)
        names = [f"worker-{number}" for number in range(1, self.options.workers + 1)]
        for name in names:
            self.start_worker(name)
        self.await_workers(*names)

    def _start_cutter(self) -> None:
        """Put the proxy where the product looks for PostgreSQL."""
        listen, server = (str(place / _SOCKET) for place in (self.line, self.postgres.folder))
        argv = (sys.executable, "-m", "scripts.drills.cutter", listen, server, str(self.cuts))
        cutter = self.beside["cutter"] = self._program("cutter", argv, {})
        self.await_true(Path(listen).exists, "the proxy before PostgreSQL", cutter)

    def _seen_url(self) -> str:
        """Return the database's URL as the product gets it."""
        folder = self.line if self.options.cutter else self.postgres.folder
        return self.database_url.replace(str(self.postgres.folder), str(folder))

    def _token(self) -> str:
        database = Database(self.database_url, pool_size=1, name="drill")
        try:
            return Accounts(database).create_token("drill", list(Scope))
        finally:
            database.dispose()

    def _program(self, name: str, argv: tuple[str, ...], variables: Mapping[str, str]) -> Program:
        if self._closing:
            raise NotReady("the drill ends")
        return Program(name, argv, {**self.environment, **variables}, self._log(name))

    def _log(self, name: str) -> Path:
        self._started += 1
        return self.logs / f"{name}-{self._started}.log"

    def _environment(self) -> dict[str, str]:
        """Return the environment of every process."""
        seconds = self.options.lease
        lease = {"HABAKKUK_TEST_LEASE": str(seconds)} if seconds else {}
        return plain_environment() | {
            "PYTHONPATH": str(processes.ROOT),
            "HABAKKUK_HOME": str(self.home),
            "HABAKKUK_LISTEN": f"127.0.0.1:{self.web_port}",
            "HABAKKUK_TEST_TOOLS": TOOLSET,
            "HABAKKUK_FAILPOINT_LOG": str(self.fired),
            "DATABASE_URL": self._seen_url(),
            "REDIS_URL": self.valkey.url(),
            "DRILL_KEY": "key-of-the-fake-service",
            **self.platforms.variables,
            **self.options.variables,
            **lease,
        }

    def _made(self, name: str, mode: int = 0o700) -> Path:
        folder = self.folder / name
        folder.mkdir(mode=mode)
        folder.chmod(mode)
        return folder
