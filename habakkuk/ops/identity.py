"""Which process a pid meant: the pid with its start, so that a reused pid is never touched."""

from __future__ import annotations

import os
import platform
import signal
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, told apart from later ones with the same pid."""

    pid: int
    started: str

    def alive(self) -> bool:
        """Whether this very process still runs; one that ended but was not reaped does not."""
        return _started(self.pid) == self.started

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to this process and no other; False when it is gone."""
        try:
            if hasattr(os, "pidfd_open"):
                return self._send_by_handle(number)
            if not self.alive():
                return False
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _send_by_handle(self, number: signal.Signals) -> bool:
        """Check the start after opening the handle: from then on the pid cannot change hands."""
        handle = os.pidfd_open(self.pid)
        try:
            if not self.alive():
                return False
            signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until it is gone; False when it still runs after `seconds`."""
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def arguments(self) -> list[str]:
        """Return its command line, empty when it is gone or not ours to see."""
        try:
            return psutil.Process(self.pid).cmdline()
        except psutil.Error:
            return []


def identify(pid: int) -> ProcessIdentity | None:
    """Return who runs under `pid` now, None when nobody does."""
    started = _started(pid)
    return ProcessIdentity(pid, started) if started is not None else None


def own_identity() -> ProcessIdentity:
    """Return this process."""
    identity = identify(os.getpid())
    if identity is None:
        raise RuntimeError("this process cannot find itself; is /proc mounted?")
    return identity


def _started(pid: int) -> str | None:
    """Return what no two processes with this pid share, None when none lives.

    On Linux the kernel's own tick count with the boot id: a wall-clock time moves with the clock.
    """
    if platform.system() == "Linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else f"{_boot()}:{fields[19]}"
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else str(process.create_time())
    except psutil.NoSuchProcess:
        return None


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
