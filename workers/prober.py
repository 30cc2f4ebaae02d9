"""Start the probe of this host when there is something for it, and end it with this process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from habakkuk.core.log import get_logger

_log = get_logger("workers.prober")
_ROOT = Path(__file__).parents[1]
_END_SECONDS = 3.0


class Prober:
    """At most one probe process. It ends when the pipe to it closes, however this process ends."""

    def __init__(self, module: str) -> None:
        """Take the module that is the program; nothing is started yet."""
        self._command = (sys.executable, "-m", module)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def start(self, queues: Sequence[str] = ()) -> None:
        """Start the probe of these queues unless one of ours runs. Returns at once."""
        with self._lock:
            if self._stopped or (self._process is not None and self._process.poll() is None):
                return
            _log.warning("starting the probe for jobs that killed their workers")
            self._process = subprocess.Popen(
                [*self._command, *queues],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                start_new_session=True,
            )

    def tell(self) -> None:
        """Tell the probe to give its job back and end; start none any more. Returns at once."""
        with self._lock:
            self._stopped = True
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()

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
