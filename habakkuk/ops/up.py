"""`up`: everything that Habakkuk needs on one machine, from nothing to healthy, and back."""

from __future__ import annotations

import dataclasses
import importlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.hardening import forbid_inspection
from habakkuk.ops.account import agent_user
from habakkuk.ops.child import Child, start_tied
from habakkuk.ops.console import PATIENT_SECONDS, Console
from habakkuk.ops.databases import Databases, prepare_databases
from habakkuk.ops.forks import Forks, LoadFailed
from habakkuk.ops.home import HomeFolder, last_lines, prepare_home
from habakkuk.ops.identity import ProcessIdentity, own_identity
from habakkuk.ops.leftovers import end_leftovers
from habakkuk.ops.lock import take_lock
from habakkuk.ops.models import LocalModel, with_local
from habakkuk.ops.port import check_port
from habakkuk.ops.processes import (
    PRELOAD,
    ROOT,
    ProcessSpec,
    local_model,
    migration,
    standard_processes,
)
from habakkuk.ops.readiness import Readiness
from habakkuk.ops.run_file import RunFile, State, read_last_run, write_run
from habakkuk.ops.spawn import Program
from habakkuk.ops.stop import StopSignal
from habakkuk.ops.supervisor import Supervisor
from habakkuk.ops.unit import Running, Start, Unit
from habakkuk.ops.welcome import welcome

_SLOW_SECONDS = 30.0
_TICK_SECONDS = 0.03


@dataclass(frozen=True)
class Setting:
    """What one `up` works with: its home, its stage and its audience."""

    settings: Settings
    home: HomeFolder
    console: Console
    stop: StopSignal
    detached: bool = False


@contextmanager
def on_stage(settings: Settings, console: Console, *, detached: bool) -> Iterator[Setting]:
    """Take the home for this process and listen for the wish to end.

    Raises Conflict when another `up` has the home, ConfigurationError when it cannot be used.
    """
    home = prepare_home(settings.home)
    lock = take_lock(home)
    stop = StopSignal()
    stop.listen()
    forbid_inspection()
    try:
        yield Setting(settings, home, console, stop, detached)
    finally:
        run = read_last_run(home.root)
        if run is not None and run.up == own_identity():
            # That of a killed run stays until what it names is ended.
            home.run_file.unlink(missing_ok=True)
        os.close(lock)


class Up:
    """One run, from the start of the databases to their end."""

    def __init__(self, setting: Setting, model: LocalModel | None) -> None:
        """Prepare; `model` is a local model to start, None when the answers come from elsewhere."""
        self._setting = setting
        self._model = model
        self._settings = with_local(setting.settings, model) if model else setting.settings
        self._state: State = "starting"
        self._identity = own_identity()
        self._left = read_last_run(setting.home.root)
        self._forks: Forks | None = None
        self._supervisor = Supervisor(setting.stop, setting.console.say, changed=self._publish)

    def run(self) -> None:
        """Start everything, keep it running until a stop is requested, end it in order.

        Raises ConfigurationError when something cannot be started, Stopped when it was not wanted
        any more before that.
        """
        try:
            self._start()
            welcome(self._setting.console, self._settings, self._setting.detached)
            # After the welcome: whoever waits for this state has then all of it to read.
            self._state = "running"
            self._publish()
            self._supervisor.watch()
        finally:
            self._end()

    def _start(self) -> None:
        self._end_leftovers()
        check_port(self._settings.listen)
        agent_user()
        self._publish()
        if self._model is not None:
            self._supervisor.start([self._child(local_model(self._model.port, self._model.file))])
        databases = prepare_databases(self._settings, self._setting.home)
        if platform.system() == "Linux":
            self._forks = Forks(partial(_load, self._with_urls(databases)))
        with self._setting.console.step("Starting the databases"):
            self._supervisor.start(databases.servers)
        self._settings = self._with_urls(databases)
        self._publish()
        self._setting.stop.check()
        self._migrate()
        serving, later = standard_processes(self._settings)
        self._supervisor.start([self._child(spec) for spec in serving])
        readiness = Readiness(self._settings, databases.database_url)
        self._wait(lambda: self._missing(readiness), "Starting the processes …")
        # Nobody waits for the first cadence, and their start would slow the others' down.
        self._supervisor.start([self._child(spec) for spec in later])

    def _end_leftovers(self) -> None:
        """End what a killed `up` left; its databases are adopted when they are wanted again."""
        if self._left is None:
            return
        wanted = {"postgresql": self._settings.database_url, "valkey": self._settings.redis_url}
        keep = [name for name, named in wanted.items() if named is None]
        with self._setting.console.step("Ending what an earlier run left"):
            ended = end_leftovers(self._left, keep)
        if ended:
            self._setting.console.say(f"Ended what an earlier run left: {', '.join(ended)}.")

    def _with_urls(self, databases: Databases) -> Settings:
        return dataclasses.replace(
            self._settings,
            database_url=databases.database_url,
            redis_url=databases.redis_url,
        )

    def _migrate(self) -> None:
        """Bring the database up to date, in a process of its own: the migrator holds a lot."""
        from habakkuk.db.engine import DatabaseAway  # noqa: PLC0415 - loads beside the database
        from habakkuk.ops.schema import schema_fault  # noqa: PLC0415 - as above

        try:
            if schema_fault(self._settings) is None:
                return
        except DatabaseAway as error:
            raise ConfigurationError(
                f"DATABASE_URL: PostgreSQL does not answer: {error.detail}"
            ) from error
        migrating = self._child(migration())
        migrating.start()
        try:
            self._wait(lambda: _still(migrating), "Bringing the database up to date …")
        finally:
            migrating.kill()
        if not migrating.succeeded:
            words = last_lines(migrating.log)
            raise ConfigurationError(
                f"the database cannot be brought up to date: {words[-1] if words else 'no reason'}"
            )

    def _wait(self, missing: Callable[[], Sequence[str]], what: str) -> None:
        """Wait until nothing is missing, restarting what crashes meanwhile; say what takes long.

        Without a thread that watches the time, as Console.step has: a restart may be a fork.
        """
        slow_at, said = time.monotonic() + PATIENT_SECONDS, False
        while still := missing():
            self._setting.stop.check()
            self._supervisor.look()
            if time.monotonic() > slow_at:
                waiting = f"Still waiting for {', '.join(still)}; what they say is in"
                self._setting.console.say(f"{waiting} {self._setting.home.logs}" if said else what)
                slow_at, said = slow_at + _SLOW_SECONDS, True
            self._setting.stop.sleep(_TICK_SECONDS)

    def _child(self, spec: ProcessSpec) -> Child:
        begin: Start = start_tied
        if self._forks is not None and spec.preloaded:
            begin = partial(self._fork, self._forks, spec.name)
        return Child(spec, self._variables(), self._setting.home.log(spec.name), begin)

    def _fork(self, forks: Forks, name: str, program: Program, log: int) -> Running:
        try:
            return forks.start(name, program, log)
        except LoadFailed as failure:
            self._setting.console.say(f"{name} starts by itself: its libraries failed ({failure})")
            return start_tied(program, log)

    def _variables(self) -> dict[str, str]:
        """Return what every child finds in its environment."""
        settings = self._settings
        found = {
            **settings.environment.process,
            "HABAKKUK_HOME": str(settings.home),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
        }
        if settings.database_url and settings.redis_url:
            found |= {"DATABASE_URL": settings.database_url, "REDIS_URL": settings.redis_url}
        return found | (self._model.variables if self._model else {})

    def _missing(self, readiness: Readiness) -> list[str]:
        pids = {who.pid for name, who in self._processes().items() if name.startswith("worker-")}
        return readiness.missing(pids, self._model.port if self._model else None)

    def _processes(self) -> dict[str, ProcessIdentity]:
        return {unit.name: unit.identity for unit in self._supervisor.units if unit.identity}

    def _publish(self) -> None:
        """Write what runs now, for the CLI and for the next `up` should this one be killed."""
        host, port = self._settings.listen
        write_run(
            self._setting.home,
            RunFile(
                up=self._identity,
                state=self._state,
                listen=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
                detached=self._setting.detached,
                database_url=self._settings.database_url,
                redis_url=self._settings.redis_url,
                local_model_url=self._model.url if self._model else None,
                processes=self._processes(),
            ),
        )

    def _end(self) -> None:
        console = self._setting.console
        if self._supervisor.units:
            console.say("Stopping …")
        killed = self._supervisor.end_all()
        if self._left is not None:
            # Databases that were kept to be adopted, when it did not come to that.
            end_leftovers(self._left)
        if killed:
            console.say(f"Had to be killed: {', '.join(killed)}.")
        if self._supervisor.units:
            console.say("Habakkuk has stopped.")


def _load(settings: Settings) -> None:
    importlib.import_module(PRELOAD).load(settings)


def _still(unit: Unit) -> list[str]:
    return [unit.name] if unit.ended() is None else []
