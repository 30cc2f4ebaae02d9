"""A command that nobody waits for: kept by this process, with which it dies.

The same shim runs it as runs a command of exec, with the same sheet. Its output goes to a sink as
it comes, its input is given bit by bit.
"""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from habakkuk.core.log import get_logger
from habakkuk.tools.sandbox.contract import Sheet
from habakkuk.tools.shims import Shim

_log = get_logger("tools.detached")
_CHUNK = 65_536
# How long the pipe may be silent, once the shim has said how the command ended.
_LAST_SECONDS = 0.5
# However much comes then: what left the shim's reach may hold the pipe.
_LONGEST_REST = 30.0
# Input that the command does not read; of more than this nothing is taken.
_MOST_WAITING = 1_000_000


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
        self._over = False
        self._woken, self._waking = os.pipe()
        os.set_blocking(self._waking, False)
        try:
            self._shim = Shim(sheet, fed=True)
            self._thread = self._begun()
        except BaseException:
            self._close_wake()
            raise

    @property
    def pid(self) -> int:
        """The shim's process."""
        return self._shim.pid

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
            if not self._over and not self._shim.ending:
                self._shim.ask()
                self._wake()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False when the time was over first."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _begun(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name="process", daemon=True)
        try:
            thread.start()
        except BaseException:
            self._shim.collect()
            raise
        return thread

    def _close_wake(self) -> None:
        os.close(self._woken)
        os.close(self._waking)

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
        shim = self._shim
        with selectors.DefaultSelector() as selector:
            for handle in (shim.output, shim.said, self._woken):
                selector.register(handle, selectors.EVENT_READ)
            # A command may close its output and run on.
            while shim.holds(shim.output, shim.said):
                ending = shim.ending or not shim.holds(shim.said)
                events = selector.select(_LAST_SECONDS if ending else None)
                for key, _ in events:
                    self._serve(selector, key.fd)
                self._watch_input(selector)
                shim.hurry()
                if not shim.holds(shim.said):
                    said_at = said_at or time.monotonic()
                    if not events or time.monotonic() > said_at + _LONGEST_REST:
                        return

    def _serve(self, selector: selectors.BaseSelector, handle: int) -> None:
        """Do what a descriptor is ready for."""
        shim = self._shim
        if handle == shim.input:
            self._feed(selector)
            return
        data = os.read(handle, _CHUNK)
        if handle == self._woken:
            return
        if not data:
            selector.unregister(handle)
            shim.close(handle)
        elif handle == shim.output:
            self._sink(data)
        else:
            shim.status += data

    def _watch_input(self, selector: selectors.BaseSelector) -> None:
        """Wait for room in the command's input when there is something for it."""
        with self._lock:
            wanted = bool(self._inputs)
        if wanted and not self._shim.holds(self._shim.input):
            self._refuse_inputs()
        elif wanted and self._shim.input not in selector.get_map():
            selector.register(self._shim.input, selectors.EVENT_WRITE)

    def _feed(self, selector: selectors.BaseSelector) -> None:
        """Write what there is room for."""
        shim = self._shim
        with self._lock:
            item = self._inputs[0] if self._inputs else None
        if item is None:
            selector.unregister(shim.input)
            return
        try:
            if item.data:
                item.data = item.data[os.write(shim.input, item.data) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            selector.unregister(shim.input)
            shim.close(shim.input)
            self._refuse_inputs()
            return
        if not item.data:
            if item.eof:
                selector.unregister(shim.input)
                shim.close(shim.input)
            with self._lock:
                self._inputs.popleft()
            item.done(True)  # noqa: FBT003 - what the callback is about

    def _refuse_inputs(self) -> None:
        with self._lock:
            left, self._inputs = list(self._inputs), deque()
        for item in left:
            item.done(False)  # noqa: FBT003 - what the callback is about

    def _collect(self) -> Outcome:
        """Let go of the shim, which ends what is left, and return what it said."""
        self._close_wake()
        said = self._shim.collect()
        if said is None:
            return Outcome(None, failure="it was killed together with what watches over it")
        code, failure = said.get("code"), said.get("failure")
        return Outcome(
            code if isinstance(code, int) else None,
            timed_out=bool(said.get("timed_out")),
            failure=str(failure) if failure is not None else None,
        )
