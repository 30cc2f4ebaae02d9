"""One program that is watched: started with its log, killed by its own pid."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from habakkuk.ops.processes import ROOT

_PORTS = range(15_000, 32_000)


class Program:
    """A process in a session of its own, with what it says in a file."""

    def __init__(
        self, name: str, argv: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        """Start it."""
        self.name = name
        self.log = log
        self.started = time.time()
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                list(argv),
                cwd=ROOT,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id, also that of its group."""
        return self._popen.pid

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs, negative after a signal."""
        return self._popen.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._popen.send_signal(number)

    def kill(self) -> None:
        """End it as kill -9 does, with what it left in its group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()

    def terminate(self, seconds: float) -> float | None:
        """Ask it to end; return how long that took, None when it had to be killed."""
        began = time.monotonic()
        self.signal(signal.SIGTERM)
        return self.wait(seconds, began)

    def wait(self, seconds: float, began: float | None = None) -> float | None:
        """Wait for its end and return the seconds since `began`; None: killed after `seconds`."""
        began = time.monotonic() if began is None else began
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        return time.monotonic() - began

    def last_lines(self, count: int = 5) -> str:
        """Return the end of its log."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-count:])


def free_port() -> int:
    """Return a loopback port that nobody uses now, and that the system gives to no client.

    A port of those that clients get could be taken while its server is away.
    """
    while True:
        port = random.choice(_PORTS)  # noqa: S311 - no secret
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
