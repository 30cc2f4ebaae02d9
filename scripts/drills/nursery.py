"""`python -m scripts.drills.nursery`: workers by fork from a process that has imported everything.

A worker spends most of its start on imports; without them the same two processors manage five
times as many kills. What a fork runs is the same program with the same arguments.

One JSON line in, `{"program", "argv", "env", "log"}`, starts a worker: `run(argv, env)` of the
module that is named. Lines out: `{"pid"}` for each start, in
order, and `{"pid", "code"}` for each end. The end of the input ends the workers.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Queue
from typing import Any

from habakkuk.core.config.settings import load_settings
from habakkuk.ops.processes import ROOT
from workers import preload

# What a worker imports by itself.
_MODULES = (
    "celery.apps.worker",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.strategy",
    "celery.concurrency.thread",
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.backends.base",
    "celery.events.dispatcher",
    "celery.events.receiver",
    "celery.fixups.django",
    "kombu.pidbox",
    "kombu.transport.redis",
    "psycopg2.extras",
    "sqlalchemy.dialects.postgresql.psycopg2",
    "habakkuk.bootstrap",
    "habakkuk.agent.turn",
    "habakkuk.llm.providers.openai.adapter",
    "workers.factory",
    "scripts.drills.worker",
    "scripts.drills.keeper",
    "openai",
    "openai.lib.streaming.chat",
    "openai.resources.chat.completions.completions",
)
# Packages whose every module a worker finds and imports.
_PACKAGES = ("habakkuk.commands", "habakkuk.tools.core", "scripts.drills.toolset.core")
_LOOK_SECONDS = 0.01
_START_SECONDS = 60.0


class Nursery:
    """The nursery as its user sees it."""

    def __init__(
        self,
        environment: Mapping[str, str],
        log: Path,
        program: str = "scripts.drills.worker",
        *,
        configured: bool = False,
    ) -> None:
        """Start it; it imports at once. `program` is the module that its forks run.

        `configured`: the environment names a home with a configuration, so that it can load all
        that `up` loads before it forks.
        """
        self._program = program
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scripts.drills.nursery", *(["configured"] * configured)],
                cwd=ROOT,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                text=True,
                start_new_session=True,
            )
        self._lock = threading.Lock()
        self._pids: Queue[int] = Queue()
        self._codes: dict[int, int] = {}
        threading.Thread(target=self._read, name="nursery", daemon=True).start()

    def start(
        self,
        name: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        program: str | None = None,
    ) -> Fork:
        """Start one worker, or another `program` whose module has `run(argv, env)`."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        with self._lock:
            order = {
                "program": program or self._program,
                "argv": list(argv),
                "env": dict(environment),
                "log": str(log),
            }
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return Fork(name, self._pids.get(timeout=_START_SECONDS), log, self._codes)

    def close(self) -> None:
        """End it and every worker."""
        with suppress(OSError):
            self._process.communicate("", timeout=_START_SECONDS)

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        for line in self._process.stdout:
            said = json.loads(line)
            if "code" in said:
                self._codes[said["pid"]] = said["code"]
            else:
                self._pids.put(said["pid"])
        # It ended: nobody will tell how its workers do.
        self._codes[0] = 0


class Fork:
    """One worker of a nursery; as a Program."""

    def __init__(self, name: str, pid: int, log: Path, codes: Mapping[int, int]) -> None:
        """Take what the nursery said."""
        self.name = name
        self.pid = pid
        self.log = log
        self.started = time.time()
        self._codes = codes

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs, negative after a signal."""
        if 0 in self._codes and not _exists(self.pid):
            return -signal.SIGKILL
        return self._codes.get(self.pid)

    def has_ended(self) -> bool:
        """Say whether it runs no more."""
        return self.code is not None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as kill -9 does, with what it left in its group. Raises TimeoutError."""
        # By its number, too: a fork that has just begun leads no group yet.
        for end in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                end(self.pid, signal.SIGKILL)
        if self.wait(_START_SECONDS) is None:
            raise TimeoutError(f"{self.name}, pid {self.pid}, was killed and has not ended")

    def terminate(self, seconds: float) -> float | None:
        """Ask it to end; return how long that took, None when it had to be killed."""
        began = time.monotonic()
        self.signal(signal.SIGTERM)
        return self.wait(seconds, began)

    def wait(self, seconds: float, began: float | None = None) -> float | None:
        """Wait for its end and return the seconds since `began`; None when it still runs."""
        now = time.monotonic()
        began = now if began is None else began
        while self.code is None:
            if time.monotonic() - now > seconds:
                return None
            time.sleep(_LOOK_SECONDS / 2)
        return time.monotonic() - began

    def last_lines(self, count: int = 5) -> str:
        """Return the end of its log."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-count:])


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Import, then fork on request until the input ends."""
    for name in (*_MODULES, *_found()):
        importlib.import_module(name)
    if "configured" in sys.argv[1:]:
        preload.load(load_settings())
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    while True:
        readable, _, _ = select.select([0], [], [], _LOOK_SECONDS)
        if readable:
            line = _line()
            if not line:
                break
            children.add(_fork(json.loads(line)))
        _reap(children)
    for pid in children:
        for end in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                end(pid, signal.SIGKILL)


def _found() -> Iterator[str]:
    for package in _PACKAGES:
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            yield f"{package}.{module.name}"


def _line() -> bytes:
    """Read one line without reading ahead: select must see what is left."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return b""
        line += byte
    return line


def _fork(order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        _say({"pid": pid})
        return pid
    try:
        _become(order)
    finally:
        os._exit(1)


def _become(order: dict[str, Any]) -> None:
    """Be the worker: its own session, log, variables and arguments."""
    os.setsid()
    log = os.open(order["log"], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, number)
    code = 0
    try:
        importlib.import_module(order["program"]).run(order["argv"], order["env"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
    sys.stderr.flush()
    os._exit(code)


def _reap(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        _say({"pid": pid, "code": os.waitstatus_to_exitcode(status)})


def _say(what: dict[str, int]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
