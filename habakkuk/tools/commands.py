"""Run an agent's command: behind the shim, with an environment of its own, as the agents' user."""

from __future__ import annotations

import json
import os
import selectors
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from habakkuk.core.agent_user import AGENT_USER, AGENT_VARIABLE, AgentUser, find_agent_user
from habakkuk.core.config.schema import CommandLimits
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.gather import Gathered

SHIM = str(Path(__file__).with_name("shim.py"))
_SHELLS = (Path("/bin/bash"), Path("/usr/bin/bash"), Path("/usr/local/bin/bash"))
_INHERITED = ("PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TZ")
# What a command gets when the server itself has none of it.
_DEFAULTS: Mapping[str, str] = {"PATH": os.defpath, "TERM": "dumb"}
# How long the last output may take once the shim has ended, and the shim once it was cut.
_LAST_SECONDS = 0.5
_CUT_SECONDS = 4.0
_CHUNK = 65536
_NAMED = 3  # exposed files that a refusal names


@dataclass(frozen=True)
class Order:
    """One command: a shell's script, the folder it starts in, how many seconds it may take.

    `place` is the device and inode of the folder as it was looked at: another is not entered.
    """

    script: str
    folder: Path
    seconds: float
    place: tuple[int, int] | None = None


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
        """Take this process's environment, of which commands get a little, and its home."""
        self._variables = _allowed(process or {})
        self._home = home.resolve() if home else None
        self._user = user
        self._limits = limits or CommandLimits()

    def run(self, order: Order, workspace: Path, interrupt: Interrupt) -> Ended:
        """Run a command to its end.

        Raises ToolError when it cannot be started, Interrupted when the turn ends meanwhile: then
        the command and its descendants are dead already.
        """
        started = time.monotonic()
        sheet = self.sheet(order, workspace)
        with _pipes(sheet["user"]) as pipes:
            run = _Run(pipes, json.dumps(sheet).encode() + b"\n")
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

    def sheet(self, order: Order, workspace: Path) -> dict[str, object]:
        """Return what the shim is told of a command. Raises ToolError when it must not run."""
        user = self._agent_user()
        # Folders above may be reached by links; those that the links lead to are what counts.
        real = workspace.resolve()
        hide = self._hidden(real, user) if user else None
        variables = dict(self._variables) | {AGENT_VARIABLE: "1"}
        if user is not None:
            variables["HOME"] = str(workspace)
        return {
            "command": [*_shell(), order.script],
            "variables": {"HOME": str(workspace)} | variables,
            "folder": str(order.folder),
            "seconds": order.seconds,
            "workspace": str(real),
            "user": [user.uid, user.gid] if user else None,
            "hide": str(hide) if hide else None,
            "objection": self._objection(real, user) if user else None,
            "limits": _resources(self._limits, user),
            "place": order.place,
        }

    def _agent_user(self) -> AgentUser | None:
        """Return whom commands run as; None: as ourselves, an ordinary user."""
        if os.geteuid() != 0:
            return None
        user = self._user()
        if user is None:
            raise ToolError(
                f"commands are not run as root, and the user {AGENT_USER} is missing; the operator"
                " makes it by starting Habakkuk again with ./scripts/up, or with: useradd --system"
                f" --no-create-home --shell /usr/sbin/nologin {AGENT_USER}"
            )
        return user

    def _hidden(self, workspace: Path, user: AgentUser) -> Path | None:
        """Return what is hidden from commands: the home, or what is closed above the workspace."""
        closed = closed_to(workspace, user)
        above = [top for top in (closed, self._home) if top and top in workspace.parents]
        return min(above, key=lambda top: len(top.parts), default=None)

    def _objection(self, workspace: Path, user: AgentUser) -> str | None:
        """Return why commands must not run here where the home cannot be hidden from them."""
        closed = closed_to(workspace, user)
        if closed is not None:
            return (
                f"commands cannot reach {workspace}: {closed} is closed to their user {AGENT_USER};"
                f" the operator can let it pass, without letting it look, with: chmod o+x {closed}"
            )
        exposed = readable_by_others(self._home) if self._home else []
        if not exposed:
            return None
        return (
            f"commands are refused, since they could read Habakkuk's own files: {_some(exposed)};"
            f" the operator can close them with: chmod -R o-rw {self._home}"
        )


def _resources(limits: CommandLimits, user: AgentUser | None) -> dict[str, int]:
    """Return the limits by the system's names.

    Processes are counted by user: one that is not the agents' own has others, which are not ours.
    """
    named = {"FSIZE": limits.file_size, "DATA": limits.memory}
    if user is not None:
        named["NPROC"] = limits.processes
    return {name: most for name, most in named.items() if most is not None}


def closed_to(workspace: Path, user: AgentUser) -> Path | None:
    """Return the first folder above the workspace that `user` cannot pass, None when all are."""
    for folder in reversed(workspace.parents):
        found = folder.stat()
        bit = stat.S_IXUSR if found.st_uid == user.uid else stat.S_IXOTH
        if found.st_gid == user.gid and found.st_uid != user.uid:
            bit = stat.S_IXGRP
        if not found.st_mode & bit:
            return folder
    return None


def readable_by_others(folder: Path) -> list[str]:
    """Return the paths below `folder` that other users of this machine could read or write.

    Only folders that let others pass are looked into; workspaces do not.
    """
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                continue
            if mode & (stat.S_IROTH | stat.S_IWOTH):
                found.append(entry.path)
            if stat.S_ISDIR(mode) and mode & stat.S_IXOTH:
                found += readable_by_others(Path(entry.path))
    return sorted(found)


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def _allowed(process: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say how this machine is used, and none that may hold a secret."""
    named = {name: process[name] for name in _INHERITED if process.get(name)}
    locale = {name: value for name, value in process.items() if name.startswith("LC_") and value}
    return {**_DEFAULTS, **locale, **named}


def _shell() -> list[str]:
    for shell in _SHELLS:
        if shell.exists():
            return [str(shell), "--noprofile", "--norc", "-c", "--"]
    return ["/bin/sh", "-c", "--"]


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
def _pipes(user: object) -> Iterator[_Pipes]:
    pipes = _Pipes(os.pipe(), os.pipe(), os.pipe(), os.pipe())
    try:
        if isinstance(user, list):
            # Else the command could not open /dev/stdout and /dev/stderr by their names.
            for handle in (pipes.output[1], pipes.errors[1]):
                os.fchown(handle, *user)
        yield pipes
    finally:
        pipes.close_all()


class _Run:
    """One running shim."""

    def __init__(self, pipes: _Pipes, order: bytes) -> None:
        self._pipes = pipes
        self.output = Gathered()
        self.errors = Gathered()
        self._status = bytearray()
        self._cut_at: float | None = None
        self._process = self._start()
        pipes.close(pipes.order[0], pipes.output[1], pipes.errors[1], pipes.status[1])
        self._send(order)

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
        if self._cut_at is not None and time.monotonic() > self._cut_at + _CUT_SECONDS:
            self._process.kill()

    def _collect(self) -> None:
        self.cut()
        try:
            self._process.wait(_CUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
