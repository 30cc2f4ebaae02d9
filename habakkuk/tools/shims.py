"""Start shims: commands with what watches over them (shim.py), and our ends of their pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from habakkuk.core.errors import ToolError
from habakkuk.tools.sandbox.contract import Sheet

_PROGRAM = str(Path(__file__).with_name("shim.py"))
_END = b"end\n"
# The shim asks, waits two seconds and kills; one that takes this long is killed itself.
_PATIENCE_SECONDS = 6.0
# What a stop elsewhere may take on top; the shim gives up on it first.
_STOP_SECONDS = 16.0


class Shim:
    """One running shim. `cut` and `ask` are for any thread, the rest for the one that reads it.

    `output`, `errors` and `said` are descriptors to read from, `input` is one to write to; -1 where
    the command has none that is ours. What comes through `said` belongs into `status`.
    """

    def __init__(self, sheet: Sheet, *, apart: bool = False, fed: bool = False) -> None:
        """Start it: with its errors `apart` from its output, and an input that is `fed`, not empty.

        Raises ToolError when that cannot be done.
        """
        self.errors = self.input = -1
        self.status = bytearray()
        self._lock = threading.Lock()
        self._open: set[int] = set()
        self._ending_since: float | None = None
        self._patience = _PATIENCE_SECONDS + (_STOP_SECONDS if sheet.stop else 0.0)
        try:
            self._start(sheet, apart=apart, fed=fed)
        except BaseException:
            # With its line the command goes, too.
            self.close_all()
            raise

    @property
    def pid(self) -> int:
        """The shim's process."""
        return self._process.pid

    @property
    def ending(self) -> bool:
        """Whether it was cut or asked to end."""
        return self._ending_since is not None

    def cut(self) -> None:
        """Close the lifeline: the command and its descendants are killed."""
        self._ending_since = self._ending_since or time.monotonic()
        self.close(self._line)

    def ask(self) -> None:
        """Have the command asked to end, and killed two seconds later."""
        self._ending_since = self._ending_since or time.monotonic()
        with self._lock:
            if self._line in self._open:
                # It may be dead already.
                with suppress(OSError):
                    os.write(self._line, _END)

    def hurry(self) -> None:
        """Kill a shim that does not end although it was to."""
        since = self._ending_since
        if since is not None and time.monotonic() > since + self._patience:
            self._process.kill()

    def holds(self, *handles: int) -> bool:
        """Whether any of these descriptors is still open."""
        return not self._open.isdisjoint(handles)

    def close(self, *handles: int) -> None:
        """Close descriptors, each once: a number can be another file's a moment later."""
        with self._lock:
            for handle in handles:
                if handle in self._open:
                    self._open.discard(handle)
                    os.close(handle)

    def close_all(self) -> None:
        """Close what is still open."""
        self.close(*tuple(self._open))

    def collect(self) -> dict[str, object] | None:
        """Let go of it, which ends what is left, and return what it said; None when it was killed.

        `code` of the command, `timed_out`, or why it could not be started as `failure`.
        """
        self.close_all()
        try:
            self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        try:
            return dict(json.loads(bytes(self.status)))
        except ValueError:
            return None

    def _start(self, sheet: Sheet, *, apart: bool, fed: bool) -> None:
        order, self._line = self._pipe()
        self.said, status = self._pipe()
        self.output, output = self._pipe()
        streams = [output]
        if apart:
            self.errors, errors = self._pipe()
            streams.append(errors)
        handles = [status]
        if fed:
            given, self.input = self._pipe()
            os.set_blocking(self.input, False)
            handles.append(given)
            sheet = replace(sheet, input=given)
        if sheet.user is not None:
            # Else the command could not open /dev/stdin, /dev/stdout or /dev/stderr by its name.
            for handle in (*streams, *handles[1:]):
                os.fchown(handle, *sheet.user)
        self._process = _started(order, streams, handles)
        self.close(order, *streams, *handles)
        self._send(sheet.encode())

    def _send(self, order: bytes) -> None:
        view = memoryview(order)
        # The shim may be dead already; its end says why.
        with suppress(BrokenPipeError):
            while view:
                view = view[os.write(self._line, view) :]

    def _pipe(self) -> tuple[int, int]:
        made = os.pipe()
        self._open.update(made)
        return made


def _started(order: int, streams: Sequence[int], handles: Sequence[int]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", _PROGRAM, str(handles[0])],
            stdin=order,
            stdout=streams[0],
            stderr=streams[-1],
            pass_fds=handles,
            # Nothing of this process's environment: a shim of root's could be looked into.
            env={},
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(f"the command cannot be started: {error.strerror}") from error
