"""Background processes for whoever uses them: the service does what is asked for here.

What is asked is a row and a NOTIFY; what came of it is read from the row, and the output from the
files in the home that all processes of Habakkuk share. So any worker can do it, and none is needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from habakkuk.core.errors import ToolError
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.db.engine import Database, DatabaseAway, Work
from habakkuk.processes import store
from habakkuk.processes.log import Part, log_folder, read_log
from habakkuk.processes.types import (
    Census,
    Judge,
    NewInput,
    NewProcess,
    Process,
    ProcessState,
    Written,
)

# Of one agent: that run at once, and that are remembered when they have ended.
MOST_RUNNING = 16
MOST_ENDED = 50
_LISTED = MOST_RUNNING + MOST_ENDED
# An operator sees those of all agents.
_LISTED_OF_ALL = 500
# How long the service may take to do what it is asked: it may be starting again just now.
START_SECONDS = 10.0
_KILL_SECONDS = 8.0
_WRITE_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5
_AWAY = (
    "it was not started: the service that keeps background processes does not answer; try again in"
    " a moment, and if it stays away the operator can look at `habakkuk status`"
)

_STOPPED = "it was not started: the turn that wanted it was stopped"

_Result = TypeVar("_Result")


class Desk:
    """Starts, reads, writes to and ends processes. Thread-safe."""

    def __init__(self, database: Database, home: Path, failpoints: Failpoints) -> None:
        """Take the rows and the folder of the output."""
        self._database = database
        self._folder = log_folder(home)
        self._failpoints = failpoints

    def start(self, new: NewProcess, interrupt: Interrupt) -> Process:
        """Have a process started, once an id, and return it as it stands then.

        Raises ToolError when it cannot be, Interrupted when the turn ends before it was.
        """
        if not self._write_down(lambda work: store.add(work, new, MOST_RUNNING), interrupt):
            raise ToolError(
                f"{MOST_RUNNING} background processes run already, the most that an agent may have;"
                " end one with process_kill (process_list shows them)"
            )
        self._failpoints.hit("process.ask.after")
        try:
            self._await(new.id, _has_started, START_SECONDS, interrupt)
        except Interrupted as interrupted:
            if interrupted.reason is Reason.CANCELLED:
                store.withdraw(self._database, new.id, _STOPPED)
            raise
        # Nobody expects it to begin later.
        store.withdraw(self._database, new.id, _AWAY)
        found = self._get(new.id)
        if found.state is ProcessState.FAILED:
            raise ToolError(found.reason)
        return found

    def find(self, agent: str | None, process_id: str) -> Process | None:
        """Return a process of this agent, of any agent for None."""
        found = store.get(self._database, process_id)
        return found if found is not None and agent in {None, found.agent} else None

    def list(self, agent: str | None = None) -> Sequence[Process]:
        """Return the processes of an agent, those that run first; of every agent for None."""
        most = _LISTED if agent is not None else _LISTED_OF_ALL
        return store.listed(self._database, agent, most)

    def read(self, process_id: str, since: int, most: int) -> Part:
        """Return output from offset `since` on, at most `most` bytes; negative: from the end."""
        return read_log(self._folder, process_id, since, most)

    def wait(self, process_id: str, seconds: float, interrupt: Interrupt) -> Process:
        """Wait for a process's end and return it, after `seconds` as it stands then.

        Raises ToolError when it is forgotten meanwhile, Interrupted.
        """
        return self._await(process_id, _has_ended, seconds, interrupt)

    def kill(self, process_id: str, by: str, interrupt: Interrupt) -> Process:
        """End a process with all that it started; return it, still running when it takes long."""
        self._write_down(lambda work: store.ask_kill(work, process_id, by), interrupt)
        return self._await(process_id, _has_ended, _KILL_SECONDS, interrupt)

    def write(self, new: NewInput, judge: Judge, interrupt: Interrupt) -> Written:
        """Write to a process's input, once a key; wait a little for it to be read.

        Raises ToolError with what `judge` says of it.
        """
        while not self._given(new, judge, interrupt):
            interrupt.check()
        self._failpoints.hit("process.give.after")
        deadline, pause = time.monotonic() + _WRITE_SECONDS, _FIRST_PAUSE
        while True:
            outcome = self._outcome(new)
            if outcome in {Written.WRITTEN, Written.CLOSED}:
                return Written(outcome)
            if time.monotonic() >= deadline:
                alive = self._get(new.process_id).state.alive
                return Written.PENDING if alive else Written.CLOSED
            interrupt.wait(pause)
            interrupt.check()
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _given(self, new: NewInput, judge: Judge, interrupt: Interrupt) -> bool:
        """Store input that follows what was judged with it; False when something came between."""
        before = self._write_down(lambda work: store.typed(work, new), interrupt)
        if before is None:
            return True
        refusal = judge(before.data)
        if refusal is not None:
            raise ToolError(refusal)
        return self._write_down(lambda work: store.give(work, new, before.inputs), interrupt)

    def _outcome(self, new: NewInput) -> str | None:
        try:
            return store.outcome(self._database, new)
        except DatabaseAway:
            return None

    def census(self) -> Census:
        """Return whether the service is there and how many processes run."""
        return store.census(self._database)

    def _write_down(self, action: Callable[[Work], _Result], interrupt: Interrupt) -> _Result:
        """Do it in a transaction of its own, again when nobody knows whether it was done.

        Raises DatabaseAway when that stays so; each of these done twice is done once.
        """
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with self._database.transaction() as work:
                    return action(work)
            except DatabaseAway:
                if time.monotonic() >= deadline:
                    raise
            interrupt.wait(_LONGEST_PAUSE)
            interrupt.check()

    def _await(
        self,
        process_id: str,
        condition: Callable[[Process], bool],
        seconds: float,
        interrupt: Interrupt,
    ) -> Process:
        """Look until the condition holds or the time is over; return what was seen last."""
        deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
        while True:
            interrupt.check()
            try:
                found = self._get(process_id)
                if condition(found) or time.monotonic() >= deadline:
                    return found
            except DatabaseAway:
                if time.monotonic() >= deadline:
                    raise
            left = max(0.0, deadline - time.monotonic())
            interrupt.wait(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _get(self, process_id: str) -> Process:
        found = store.get(self._database, process_id)
        if found is None:
            raise ToolError(f"{process_id} is no longer remembered: many have ended since")
        return found


def _has_started(process: Process) -> bool:
    return process.state is not ProcessState.STARTING


def _has_ended(process: Process) -> bool:
    return not process.state.alive
