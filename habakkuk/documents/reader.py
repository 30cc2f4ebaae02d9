"""Have documents read: each by a process of its own, which ends with the call."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from habakkuk.core.interrupt import Interrupt
from habakkuk.documents.selection import check
from habakkuk.documents.types import Reading, Unreadable

MOST_BYTES = 100_000_000
# Seed, Documents: 400 KB of text at once.
MOST_CHARACTERS = 400_000
_PROGRAM = str(Path(__file__).with_name("program.py"))
_SECONDS = 85.0
# In JSON a character takes twelve bytes at most.
_MOST_ANSWER = 12 * MOST_CHARACTERS + 10_000_000
# As many at once as a small machine has memory for.
_AT_ONCE = 2
_BROKEN = "it is damaged, so that its reader broke off"
_TOO_LONG = {-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL}


class Documents:
    """Reads documents. Thread-safe; others wait while two are read."""

    def __init__(self, program: str = _PROGRAM, seconds: float = _SECONDS) -> None:
        """`program` is what reads, and `seconds` how long it may take; tests have others."""
        self._program = program
        self._seconds = seconds
        self._room = threading.BoundedSemaphore(_AT_ONCE)

    def read(self, data: bytes, pages: str, offset: int, interrupt: Interrupt) -> Reading:
        """Return the text of the parts that `pages` asks for, from `offset` on.

        Raises Unreadable, and Interrupted, when the process is dead already.
        """
        check(pages)
        order = json.dumps({"pages": pages, "offset": offset, "limit": MOST_CHARACTERS})
        with self._turn(interrupt), tempfile.TemporaryFile() as source:
            source.write(data)
            source.seek(0)
            code, answer = self._run(order, source, interrupt)
        interrupt.check()
        if len(answer) >= _MOST_ANSWER:
            raise Unreadable(_BROKEN)
        if code != 0:
            if code in _TOO_LONG:
                raise Unreadable("it takes too long to read")
            raise Unreadable("it is damaged, or takes too much memory to read")
        return _reading(answer)

    @contextmanager
    def _turn(self, interrupt: Interrupt) -> Iterator[None]:
        while not self._room.acquire(timeout=0.1):
            interrupt.check()
        try:
            yield
        finally:
            self._room.release()

    def _run(self, order: str, source: IO[bytes], interrupt: Interrupt) -> tuple[int, bytes]:
        """Return the exit code and the answer of the child; it is over in any case."""
        with subprocess.Popen(
            [sys.executable, "-I", self._program, order],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
        ) as child:
            timer = threading.Timer(self._seconds, child.kill)
            timer.daemon = True
            timer.start()
            try:
                with interrupt.freeing(child.kill):
                    answer = child.stdout.read(_MOST_ANSWER) if child.stdout else b""
            finally:
                # Whether it has said all or too much: there is nothing more to hear.
                timer.cancel()
                code = _ended(child)
        return code, answer


def _ended(child: subprocess.Popen[bytes]) -> int:
    try:
        return child.wait(1.0)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def _reading(answer: bytes) -> Reading:
    try:
        told = json.loads(answer)
        if "unreadable" in told:
            raise Unreadable(str(told["unreadable"]))
        return Reading(**told)
    except (ValueError, TypeError, RecursionError) as error:
        # Whoever took the child over can answer anything.
        raise Unreadable(_BROKEN) from error
