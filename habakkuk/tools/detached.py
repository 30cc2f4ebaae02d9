"""A command that nobody waits for: kept by this process, with which it dies.

The same shim runs it as runs a command of exec, with the same sheet. Its output goes to a sink as
it comes, its input is given bit by bit.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from habakkuk.core.errors import ToolError
from habakkuk.core.log import get_logger
from habakkuk.tools.commands import SHIM, STOP_SECONDS
from habakkuk.tools.sandbox.contract import Sheet

_log = get_logger("tools.detached")
_CHUNK = 65_536
# How long the pipe may be silent, once the shim has said how the command ended.
_LAST_SECONDS = 0.5
# However much comes then: what left the shim's reach may hold the pipe.
_LONGEST_REST = 30.0
_END = b"end\n"
# Input that the command does not read; of more than this nothing is taken.
_MOST_WAITING = 1_000_000
# The shim asks, waits two seconds and kills; one that takes this long is killed itself.
_CUT_SECONDS = 6.0


@dataclass(frozen=True)
class Outcome:
    """How it ended. `code` is negative for a signal, None when that is not known.

    `failure` says why it could not be run at all.
    """

    code: int | None
    timed_out: bool = False
    failure: str | None = None


@dataclass
class _Input:
    """Bytes on their way to the command; `done` is told whether it took them."""

    data: memoryview
    eof: bool
    done: Callable[[bool], None]


class Detached:
    """One running command. `ended` is called in its thread, once, when all output is in the sink.

    Neither the sink nor `ended` may raise.
    """

    def __init__(
        self,
        sheet: Sheet,
        sink: Callable[[bytes], None],
        ended: Callable[[Outcome], None],
    ) -> None:
        """Start it. Raises ToolError when that cannot be done."""
        self._sink = sink
        self._ended = ended
        self._lock = threading.Lock()
        self._inputs: deque[_Input] = deque()
        self._open: set[int] = set()
        self._killed_at: float | None = None
        self._patience = _CUT_SECONDS + (STOP_SECONDS if sheet.stop else 0.0)
        self._status = bytearray()
        self._over = False
        self._output, self._said, self._line, self._input = -1, -1, -1, -1
        self._woken, self._waking = self._pipe()
        os.set_blocking(self._waking, False)
        try:
            self._process = self._start(sheet)
            self._thread = threading.Thread(target=self._run, name="process", daemon=True)
            self._thread.start()
        except BaseException:
            # With its line the command goes, too.
            self._close(*tuple(self._open))
            raise

    @property
    def pid(self) -> int:
        """The shim's process."""
        return self._process.pid

    def give(self, data: bytes, done: Callable[[bool], None], *, eof: bool) -> None:
        """Write to its input, after what was given before; `done` is told whether it took it."""
        with self._lock:
            waiting = sum(len(item.data) for item in self._inputs)
            taken = not self._over and waiting + len(data) <= _MOST_WAITING
            if taken:
                self._inputs.append(_Input(memoryview(data), eof, done))
                self._wake()
        if not taken:
            done(False)  # noqa: FBT003 - what the callback is about

    def end(self) -> None:
        """Ask it to end; two seconds later it is killed with all that it started."""
        with self._lock:
            if not self._over and self._killed_at is None:
                self._killed_at = time.monotonic()
                with suppress(OSError):
                    os.write(self._line, _END)
                self._wake()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False when the time was over first."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _start(self, sheet: Sheet) -> subprocess.Popen[bytes]:
        order, self._line = self._pipe()
        self._output, output = self._pipe()
        self._said, status = self._pipe()
        given, self._input = self._pipe()
        os.set_blocking(self._input, False)
        if sheet.user is not None:
            # Else the command could not open /dev/stdin and /dev/stdout by their names.
            for handle in (output, given):
                os.fchown(handle, *sheet.user)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", SHIM, str(status)],
                stdin=order,
                stdout=output,
                stderr=output,
                pass_fds=(status, given),
                env={},
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(f"the command cannot be started: {error.strerror}") from error
        self._close(order, output, status, given)
        raw = replace(sheet, input=given).encode()
        # The shim may be dead already; its end says why.
        with suppress(BrokenPipeError):
            while raw:
                raw = raw[os.write(self._line, raw) :]
        return process

    def _pipe(self) -> tuple[int, int]:
        made = os.pipe()
        self._open.update(made)
        return made

    def _close(self, *handles: int) -> None:
        """Close descriptors, each once: a number can be another file's a moment later."""
        for handle in handles:
            if handle in self._open:
                self._open.discard(handle)
                os.close(handle)

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._waking, b".")

    def _run(self) -> None:
        """Pass on what comes until the end. The top of the thread."""
        try:
            self._pump()
        except Exception:  # noqa: BLE001 - the top of the thread; without it nothing may run on
            _log.exception("a background process is ended: it cannot be kept", pid=self.pid)
        with self._lock:
            self._over = True
            left = list(self._inputs)
        for item in left:
            item.done(False)  # noqa: FBT003 - what the callback is about
        self._ended(self._collect())

    def _pump(self) -> None:
        said_at: float | None = None
        with selectors.DefaultSelector() as selector:
            for handle in (self._output, self._said, self._woken):
                selector.register(handle, selectors.EVENT_READ)
            # A command may close its output and run on.
            while self._open & {self._output, self._said}:
                ending = self._killed_at is not None or self._said not in self._open
                events = selector.select(_LAST_SECONDS if ending else None)
                for key, _ in events:
                    self._serve(selector, key.fd)
                self._watch_input(selector)
                self._hurry()
                if self._said not in self._open:
                    said_at = said_at or time.monotonic()
                    if not events or time.monotonic() > said_at + _LONGEST_REST:
                        return

    def _serve(self, selector: selectors.BaseSelector, handle: int) -> None:
        """Do what a descriptor is ready for."""
        if handle == self._input:
            self._feed(selector)
            return
        data = os.read(handle, _CHUNK)
        if not data:
            selector.unregister(handle)
            self._close(handle)
        elif handle == self._output:
            self._sink(data)
        elif handle == self._said:
            self._status += data

    def _watch_input(self, selector: selectors.BaseSelector) -> None:
        """Wait for room in the command's input when there is something for it."""
        with self._lock:
            wanted = bool(self._inputs)
        if wanted and self._input not in self._open:
            self._refuse_inputs()
        elif wanted and self._input not in selector.get_map():
            selector.register(self._input, selectors.EVENT_WRITE)

    def _feed(self, selector: selectors.BaseSelector) -> None:
        """Write what there is room for."""
        with self._lock:
            item = self._inputs[0] if self._inputs else None
        if item is None:
            selector.unregister(self._input)
            return
        try:
            if item.data:
                item.data = item.data[os.write(self._input, item.data) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            selector.unregister(self._input)
            self._close(self._input)
            self._refuse_inputs()
            return
        if not item.data:
            if item.eof:
                selector.unregister(self._input)
                self._close(self._input)
            with self._lock:
                self._inputs.popleft()
            item.done(True)  # noqa: FBT003 - what the callback is about

    def _refuse_inputs(self) -> None:
        with self._lock:
            left, self._inputs = list(self._inputs), deque()
        for item in left:
            item.done(False)  # noqa: FBT003 - what the callback is about

    def _hurry(self) -> None:
        """Kill a shim that does not end although it was asked to."""
        if self._killed_at is not None and time.monotonic() > self._killed_at + self._patience:
            self._process.kill()

    def _collect(self) -> Outcome:
        """Let go of the shim, which ends what is left, and return what it said."""
        with self._lock:
            self._close(*tuple(self._open))
        try:
            self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        try:
            said = json.loads(bytes(self._status))
        except ValueError:
            return Outcome(None, failure="it was killed together with what watches over it")
        code = said.get("code")
        return Outcome(
            code if isinstance(code, int) else None,
            timed_out=bool(said.get("timed_out")),
            failure=said.get("failure"),
        )
