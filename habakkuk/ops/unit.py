"""One process under supervision, started by us or found running."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from habakkuk.ops.home import open_log
from habakkuk.ops.identity import ProcessIdentity, identify
from habakkuk.ops.spawn import Program, start_server


class Running(Protocol):
    """A child of this process."""

    pid: int
    returncode: int | None

    def wait(self) -> int:
        """Wait for its end and reap it; return its exit code, negative after a signal."""
        ...


# Starts a program whose output goes to an open file. Raises OSError.
Start = Callable[[Program, int], Running]


class Unit:
    """A process by name. Kinds differ in how `start` begins and which signal ends it."""

    end_signal = signal.SIGTERM
    # Whether a person's second Ctrl+C ends it at once. Databases end in a moment by themselves.
    may_hurry = True

    def __init__(self, name: str, log: Path) -> None:
        """Name it; nothing is started yet."""
        self.name = name
        self.log = log
        self.identity: ProcessIdentity | None = None
        self._process: Running | None = None

    def start(self) -> None:
        """Start it, or adopt what runs already. Raises ConfigurationError when it cannot run."""
        raise NotImplementedError

    def ended(self) -> str | None:
        """Return why it ended, None while it runs. Ends what it left in its process group."""
        if self._process is None:
            alive = self.identity is not None and self.identity.alive()
            return None if alive else "ended"
        if self._process.returncode is None:
            if _still_runs(self._process.pid):
                return None
            _sweep_group(self._process.pid)
        return _reason(self._process.wait())

    @property
    def succeeded(self) -> bool:
        """Whether it was seen to end with exit code 0."""
        return self._process is not None and self._process.returncode == 0

    def ask_to_end(self) -> None:
        """Send the signal that ends it cleanly."""
        if self.identity is not None:
            self.identity.send(self.end_signal)

    def kill(self) -> None:
        """End it and its process group at once."""
        if self.identity is None:
            return
        if self._process is not None and self._process.returncode is None:
            _sweep_group(self._process.pid)
        self.identity.send(signal.SIGKILL)

    def _launch(self, program: Program, start: Start = start_server) -> None:
        """Start `program` with its output in the log."""
        log = open_log(self.log)
        try:
            self._process = start(program, log)
        finally:
            os.close(log)
        self.identity = identify(self._process.pid)

    def _adopt(self, identity: ProcessIdentity) -> None:
        self._process = None
        self.identity = identity


def _still_runs(pid: int) -> bool:
    """Look without reaping: until it is reaped its pid, our group's name, is not given away."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _sweep_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # Gone already; macOS says "not permitted" of a group of zombies.
        return


def _reason(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
