"""A person at a terminal: the command runs on a pseudo-terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

_ROOT = Path(__file__).parents[3]
# A session of its own, whose terminal this is: Ctrl+C reaches it alone, also where the tests were
# started by something that ignores it.
_TAKE_TERMINAL = """
import fcntl, os, signal, sys, termios
os.setsid()
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """One running command, what it has written so far, and its keyboard."""

    def __init__(self, *words: str, environment: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, sys.executable, "-m", "web.cli", *words],
            cwd=_ROOT,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "TERM": "dumb", "COLUMNS": "200"},
        )
        os.close(slave)
        self.shown = ""
        self._awaited = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str, seconds: float = 20.0) -> None:
        """Read until `text` is shown after what was awaited before."""
        end = time.monotonic() + seconds
        while (found := self.shown.find(text, self._awaited)) < 0:
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"{text!r} was not shown, but {self.shown!r}")
        self._awaited = found + len(text)

    def ended(self, seconds: float = 20.0) -> int:
        """Read to the end and return the exit code."""
        end = time.monotonic() + seconds
        while self._read():
            assert time.monotonic() < end, self.shown
        return self._process.wait(seconds)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 0.1)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)
