"""Have what anybody wrote read by a process that can do nothing else: one start, one answer.

The programs are files of ours that give everything up before they look (core/confined). They get an
order as JSON in their arguments, what is to be read as their input, and nothing of our environment.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from habakkuk.core.interrupt import Interrupt
from habakkuk.core.programs import Bounds, Done, Program, run

# Damaged, too.
BROKE_OFF = "it is damaged, so that its reader broke off"
_TOO_LONG = {-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL}


class NoAnswer(Exception):
    """A reader gave no answer; the message says why, after "x cannot be read: "."""


class NotStarted(NoAnswer):
    """A reader could not even be started: it says nothing of what there was to read."""


def reader(program: str, order: Mapping[str, object]) -> Program:
    """Return how a reader is started; `program` is the path of its file."""
    return Program([sys.executable, "-I", program, json.dumps(order)])


class Readers:
    """Starts one program, once for each thing that it reads. Thread-safe."""

    def __init__(self, program: str, bounds: Bounds, at_once: int | None = None) -> None:
        """`program` is the path of its file; of more than `at_once` the others wait."""
        self._program = program
        self._bounds = bounds
        self._room = threading.BoundedSemaphore(at_once) if at_once is not None else None

    def ask(self, order: Mapping[str, object], given: bytes, interrupt: Interrupt) -> bytes:
        """Return what the program answers on what it is given.

        Raises NoAnswer, and Interrupted, when the process is dead already.
        """
        with self._turn(interrupt):
            try:
                done = run(reader(self._program, order), self._bounds, interrupt, given)
            except (OSError, ValueError) as error:
                raise NotStarted(f"its reader could not be started: {error}") from error
        return _answer(done)

    @contextmanager
    def _turn(self, interrupt: Interrupt) -> Iterator[None]:
        if self._room is None:
            yield
            return
        with interrupt.holding(self._room):
            yield


def _answer(done: Done) -> bytes:
    if done.full:
        raise NoAnswer(BROKE_OFF)
    if done.code in _TOO_LONG:
        raise NoAnswer("it takes too long to read")
    if done.code != 0:
        raise NoAnswer("it is damaged, or takes too much memory to read")
    return done.output
