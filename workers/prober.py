"""Start the probe of this host when there is something for it, and end it with this process."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from habakkuk.core.log import get_logger

_log = get_logger("workers.prober")
_ROOT = Path(__file__).parents[1]
_END_SECONDS = 3.0
# That the pipe closes says nothing: it does so when this process is killed, too.
_END = b"end"


class Prober:
    """At most one probe process. It ends when it is told to, or by itself when nothing is left.

    The workers of a host find the same poison at the same time. The probe holds a lock on a file
    from its start, so that only one of them pays for the start of a process.
    """

    def __init__(self, module: str, folder: Path) -> None:
        """Take the module that is the program, and where the lock lies; nothing is started yet."""
        self._command = (sys.executable, "-m", module)
        self._place = folder / f"probe-{socket.gethostname()}.lock"
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def start(self, queues: Sequence[str] = ()) -> None:
        """Start the probe of these queues unless one of ours runs. Returns at once."""
        with self._lock:
            if self._stopped or (self._process is not None and self._process.poll() is None):
                return
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._process = self._started(handle, queues) or self._process
            finally:
                os.close(handle)

    def _started(self, handle: int, queues: Sequence[str]) -> subprocess.Popen[bytes] | None:
        """Start the probe with the lock, which ends with it; None when another one has it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        _log.warning("starting the probe for jobs that killed their workers")
        return subprocess.Popen(
            [*self._command, *queues],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(handle,),
        )

    def tell(self) -> None:
        """Tell the probe to give its job back and end; start none any more. Returns at once."""
        with self._lock:
            self._stopped = True
            pipe = self._process.stdin if self._process is not None else None
            if pipe is not None and not pipe.closed:
                # Closing flushes, too; a probe that has ended reads nothing.
                with suppress(BrokenPipeError):
                    pipe.write(_END)
                    pipe.close()

    def stop(self) -> None:
        """Tell the probe to end and wait for it."""
        self.tell()
        process = self._process
        if process is None:
            return
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            _log.warning("the probe did not end in time", pid=process.pid)
