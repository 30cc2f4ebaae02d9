"""Run other programs: within a time, with bounded output, killed with their process group.

Nothing of a program outlives the block that runs it: the end of its time, an interrupt and an error
kill it with all of its group. What ended by itself may leave others of its group running.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from habakkuk.core.agent_user import AgentUser
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.priority import hold_back, stepped_back

_CHUNK = 65_536
# How long an end is not noticed at most, where something that it left holds its output open.
_LOOK_SECONDS = 0.02
# How long what an ended program has printed is read: what it left behind may print for ever.
_REST_SECONDS = 1.0


@dataclass(frozen=True)
class Program:
    """What is started: an argv whose first is a path, and all of its environment.

    `handles` are descriptors that it inherits, `user` is whom it becomes, `umask` -1 leaves that.
    It steps back as who starts it does, and by `niceness` at least (core/priority.py).
    """

    argv: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    handles: Sequence[int] = ()
    user: AgentUser | None = None
    umask: int = -1
    niceness: int = 0


@dataclass(frozen=True)
class Bounds:
    """How long a program may run, in seconds, and how many bytes of what it prints are kept.

    Its errors go nowhere where none are kept. What is more is not kept; one that is `held` to its
    bounds is killed for it.
    """

    seconds: float
    output: int
    errors: int = 0
    held: bool = True


@dataclass(frozen=True)
class Done:
    """How a program ended. `code` is negative for a signal.

    `late`: its time was over. `full`: it printed more than is kept.
    """

    code: int
    output: bytes
    errors: bytes
    late: bool
    full: bool


class Running:
    """A program that runs, with our ends of its pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Take a process that leads a group of its own."""
        self.process = process
        self.late = False

    def say(self, data: bytes) -> None:
        """Write to its input. Raises OSError when it reads no more, as when it was killed."""
        if self.process.stdin is not None:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def line(self, most: int) -> bytes:
        """Return its next line, `most` bytes of it at most; empty once it says nothing more."""
        return self.process.stdout.readline(most) if self.process.stdout is not None else b""

    def kill(self) -> None:
        """Kill it with its group. Any thread, more than once."""
        # Not once it is collected: the number may be another's by then.
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            # Itself, too: in our session it can leave its group, which a leader of a session
            # cannot, and one that a document took over is to end all the same.
            with suppress(PermissionError):
                self.process.kill()

    def expire(self) -> None:
        """Kill it, since its time is over. Any thread."""
        self.late = True
        self.kill()


@contextmanager
def running(
    program: Program,
    seconds: float,
    interrupt: Interrupt,
    source: int | IO[bytes] = subprocess.PIPE,
    errors: int = subprocess.DEVNULL,
) -> Iterator[Running]:
    """Run a program while the block lasts, `seconds` at most.

    The end of its time and an interrupt kill it, which frees whoever reads from it or writes to it.
    Raises OSError, and ValueError for an argv that no system takes.
    """
    process = _started(program, source, errors)
    run = Running(process)
    clock = threading.Timer(seconds, run.expire)
    clock.daemon = True
    with process:
        try:
            _start(clock)
            with interrupt.freeing(run.kill):
                yield run
        finally:
            clock.cancel()
            run.kill()
            if process.stdin is not None:
                # What it did not read any more is lost with it.
                with suppress(OSError):
                    process.stdin.close()


def _start(clock: threading.Timer) -> None:
    try:
        clock.start()
    except RuntimeError as error:
        # One thread too many is what the system says of one process too many.
        raise OSError(errno.EAGAIN, str(error)) from error


def _started(program: Program, source: int | IO[bytes], errors: int) -> subprocess.Popen[bytes]:
    user = program.user
    # Where ours stepped back already, one of its own would stand before us again; and a system
    # takes that only ten times a second from others than root.
    within = stepped_back(program.niceness)
    process = subprocess.Popen(
        list(program.argv),
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=dict(program.variables),
        cwd=program.folder,
        pass_fds=program.handles,
        umask=program.umask,
        user=user.uid if user else None,
        group=user.gid if user else None,
        extra_groups=[] if user else None,
        start_new_session=not within,
        process_group=0 if within else None,
    )
    if not within:
        hold_back(process.pid, program.niceness)
    return process


def run(program: Program, bounds: Bounds, interrupt: Interrupt, given: bytes = b"") -> Done:
    """Run a program to its end, with `given` as its input.

    Raises OSError or ValueError when it cannot be started, and Interrupted, when it is dead
    already.
    """
    errors = subprocess.PIPE if bounds.errors else subprocess.DEVNULL
    output, said = _Kept(bounds.output), _Kept(bounds.errors)
    with (
        _input(given) as source,
        running(program, bounds.seconds, interrupt, source, errors) as begun,
        selectors.DefaultSelector() as pipes,
    ):
        for pipe, kept in ((begun.process.stdout, output), (begun.process.stderr, said)):
            if pipe is not None:
                pipes.register(pipe, selectors.EVENT_READ, kept)
        _follow(begun, pipes, held=bounds.held)
    interrupt.check()
    code = begun.process.returncode
    late = begun.late and code == -signal.SIGKILL
    return Done(code, bytes(output.data), bytes(said.data), late, output.full or said.full)


@contextmanager
def _input(given: bytes) -> Iterator[int | IO[bytes]]:
    """Give what a program reads: a file, so that one that reads nothing holds nobody up."""
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        yield source


class _Kept:
    """The first bytes of what came through a pipe, `most` at most."""

    def __init__(self, most: int) -> None:
        self.data = bytearray()
        self.full = False
        self._most = most

    def add(self, chunk: bytes) -> None:
        room = self._most - len(self.data)
        self.data += chunk[:room]
        self.full = self.full or len(chunk) > room


def _follow(begun: Running, pipes: selectors.BaseSelector, *, held: bool) -> None:
    """Read until the program has ended; that others hold its pipes open does not count."""
    while pipes.get_map() and begun.process.poll() is None:
        _read(pipes, _LOOK_SECONDS)
        if held and _full(pipes):
            begun.kill()
    begun.process.wait()
    until = time.monotonic() + _REST_SECONDS
    while _read(pipes, 0) and not _full(pipes) and time.monotonic() < until:
        pass


def _read(pipes: selectors.BaseSelector, seconds: float) -> bool:
    """Take what comes within a time; False when nothing does."""
    ready = pipes.select(seconds) if pipes.get_map() else []
    for key, _ in ready:
        chunk = os.read(key.fd, _CHUNK)
        key.data.add(chunk)
        if not chunk:
            pipes.unregister(key.fileobj)
    return bool(ready)


def _full(pipes: selectors.BaseSelector) -> bool:
    return any(key.data.full for key in pipes.get_map().values())
