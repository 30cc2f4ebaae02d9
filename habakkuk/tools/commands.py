"""Run an agent's command: behind the shim, as its sandbox says."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from habakkuk.core.agent_user import AgentUser, find_agent_user
from habakkuk.core.config.schema import AgentConfig, CommandLimits
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.gather import Gathered
from habakkuk.tools.sandbox.contract import Ground, Order, Sandbox, Sheet
from habakkuk.tools.sandbox.registry import Sandboxes

__all__ = ["Commands", "Ended", "Order"]

SHIM = str(Path(__file__).with_name("shim.py"))
# How long the last output may take once the shim has ended, and the shim once it was cut.
_LAST_SECONDS = 0.5
_CUT_SECONDS = 4.0
# What a stop elsewhere may take on top; the shim gives up on it first.
STOP_SECONDS = 16.0
_CHUNK = 65536


@dataclass(frozen=True)
class Ended:
    """How a command ended. `code` is negative for a signal, None when it was cut."""

    code: int | None
    timed_out: bool
    seconds: float
    output: Gathered
    errors: Gathered


class Commands:
    """Starts commands. Thread-safe; one command a call."""

    def __init__(
        self,
        process: Mapping[str, str] | None = None,
        home: Path | None = None,
        user: Callable[[], AgentUser | None] = find_agent_user,
        limits: CommandLimits | None = None,
    ) -> None:
        """Take this process's environment, of which commands get a little, and its home.

        Every command runs here then, in no sandbox.
        """
        ground = Ground(process or {}, home, user, limits or CommandLimits())
        self._sandboxes = Sandboxes(ground)

    @classmethod
    def on(cls, ground: Ground, agents: Mapping[str, AgentConfig]) -> Commands:
        """Return commands that run where each agent's configuration says."""
        made = cls()
        made._sandboxes = Sandboxes(ground, agents)
        return made

    def sandbox(self, agent: str) -> Sandbox:
        """Return where the commands of an agent run. Raises ToolError for an unknown agent."""
        return self._sandboxes.of(agent)

    def refuse_writing(self, agent: str) -> None:
        """Raise ToolError when an agent's commands would not see files that are written here."""
        if self.sandbox(agent).remote:
            raise ToolError(
                "this was not done: commands run on another machine, which would never see the"
                " file; change files there with exec"
            )

    def sheet(self, order: Order, workspace: Path) -> Sheet:
        """Return how a command becomes a process: what a shim is given to run it.

        Raises ToolError when its sandbox cannot run it; it is never run outside of that.
        """
        sandbox = self._sandboxes.here() if order.here else self.sandbox(order.agent)
        sheet = sandbox.sheet(order, workspace)
        if order.variables and sheet.stop is not None:
            raise ToolError(
                "secrets are not given to commands that run elsewhere: there they would stand in"
                " the list of processes"
            )
        return replace(sheet, variables=sheet.variables | dict(order.variables))

    def run(self, order: Order, workspace: Path, interrupt: Interrupt) -> Ended:
        """Run a command to its end.

        Raises ToolError when it cannot be started, Interrupted when the turn ends meanwhile: then
        the command and its descendants are dead already.
        """
        started = time.monotonic()
        sheet = self.sheet(order, workspace)
        with _pipes(sheet.user) as pipes:
            run = _Run(pipes, sheet)
            with interrupt.freeing(run.cut):
                run.drain()
            interrupt.check()
        end = run.end()
        code = end.get("code")
        return Ended(
            code=code if isinstance(code, int) else None,
            timed_out=bool(end.get("timed_out")),
            seconds=time.monotonic() - started,
            output=run.output,
            errors=run.errors,
        )


@dataclass
class _Pipes:
    """The pipes around a shim: what it reads and writes, and our ends."""

    order: tuple[int, int]
    output: tuple[int, int]
    errors: tuple[int, int]
    status: tuple[int, int]
    closed: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def close(self, *handles: int) -> None:
        """Close descriptors, each once: a number can be another file's a moment later."""
        with self.lock:
            for handle in handles:
                if handle not in self.closed:
                    self.closed.add(handle)
                    os.close(handle)

    def close_all(self) -> None:
        """Close what is still open."""
        self.close(*self.order, *self.output, *self.errors, *self.status)


@contextmanager
def _pipes(user: list[int] | None) -> Iterator[_Pipes]:
    pipes = _Pipes(os.pipe(), os.pipe(), os.pipe(), os.pipe())
    try:
        if user is not None:
            # Else the command could not open /dev/stdout and /dev/stderr by their names.
            for handle in (pipes.output[1], pipes.errors[1]):
                os.fchown(handle, user[0], user[1])
        yield pipes
    finally:
        pipes.close_all()


class _Run:
    """One running shim."""

    def __init__(self, pipes: _Pipes, sheet: Sheet) -> None:
        self._pipes = pipes
        self._patience = _CUT_SECONDS + (STOP_SECONDS if sheet.stop else 0.0)
        self.output = Gathered()
        self.errors = Gathered()
        self._status = bytearray()
        self._cut_at: float | None = None
        self._process = self._start()
        pipes.close(pipes.order[0], pipes.output[1], pipes.errors[1], pipes.status[1])
        self._send(sheet.encode())

    def _start(self) -> subprocess.Popen[bytes]:
        pipes = self._pipes
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", SHIM, str(pipes.status[1])],
                stdin=pipes.order[0],
                stdout=pipes.output[1],
                stderr=pipes.errors[1],
                pass_fds=(pipes.status[1],),
                # Nothing of this process's environment: a shim of root's could be looked into.
                env={},
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(f"the command cannot be started: {error.strerror}") from error

    def _send(self, order: bytes) -> None:
        view = memoryview(order)
        # The shim may be dead already; its end says why.
        with suppress(BrokenPipeError):
            while view:
                view = view[os.write(self._pipes.order[1], view) :]

    def cut(self) -> None:
        """Close the lifeline: the command and its descendants are killed. Any thread."""
        self._pipes.close(self._pipes.order[1])
        self._cut_at = self._cut_at or time.monotonic()

    def drain(self) -> None:
        """Read all pipes at once until the shim has ended; no full pipe ever stops the command."""
        pipes = self._pipes
        takers: dict[int, Callable[[bytes], None]] = {
            pipes.output[0]: self.output.add,
            pipes.errors[0]: self.errors.add,
            pipes.status[0]: self._status.extend,
        }
        last: float | None = None
        with selectors.DefaultSelector() as selector:
            for handle in takers:
                selector.register(handle, selectors.EVENT_READ)
            while selector.get_map() and (last is None or time.monotonic() < last):
                for key, _ in selector.select(0.1):
                    data = os.read(key.fd, _CHUNK)
                    takers[key.fd](data)
                    if not data:
                        selector.unregister(key.fd)
                        if key.fd == pipes.status[0]:
                            last = time.monotonic() + _LAST_SECONDS
                self._hurry()
        self._collect()

    def end(self) -> dict[str, object]:
        """Return what the shim said. Raises ToolError when the command could not be started."""
        try:
            said = json.loads(bytes(self._status))
        except ValueError as error:
            raise ToolError("the command was killed together with what watches over it") from error
        if "failure" in said:
            raise ToolError(str(said["failure"]))
        return dict(said)

    def _hurry(self) -> None:
        """Kill a shim that does not end although its lifeline is cut."""
        if self._cut_at is not None and time.monotonic() > self._cut_at + self._patience:
            self._process.kill()

    def _collect(self) -> None:
        self.cut()
        try:
            self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
