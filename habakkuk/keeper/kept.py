"""One process in the keeper's hands: the command that runs and the file that its output goes to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from habakkuk.core.interrupt import Interrupt
from habakkuk.processes.log import LogWriter
from habakkuk.processes.types import End, Process, ProcessState
from habakkuk.tools.commands import Commands, Order
from habakkuk.tools.detached import Detached, Outcome
from habakkuk.tools.sandbox.contract import Sheet

# A limit beyond this is none: clocks do not take any number.
_LONGEST = 10 * 365 * 86_400.0


class Kept:
    """A running process. `ended` is called with its end, in another thread, once."""

    def __init__(
        self,
        process: Process,
        sheet: Sheet,
        folder: Path,
        ended: Callable[[str, End], None],
    ) -> None:
        """Start it. Raises ToolError when that cannot be done."""
        self.id = process.id
        self.told_to_end = False
        self._stopping = False
        self._ended = ended
        self._log = LogWriter(folder, process.id)
        self._run = Detached(sheet, self._log.write, self._note)

    def give(self, data: bytes, done: Callable[[bool], None], *, eof: bool) -> None:
        """Write to its input; `done` is told whether it was taken."""
        self._run.give(data, done, eof=eof)

    def end(self, *, stopping: bool = False) -> None:
        """Ask it to end, and kill it two seconds later. `stopping`: with the service."""
        self.told_to_end = True
        self._stopping = self._stopping or stopping
        self._run.end()

    def wait(self, seconds: float) -> bool:
        """Wait for its end."""
        return self._run.wait(seconds)

    def _note(self, outcome: Outcome) -> None:
        self._log.close()
        self._ended(self.id, self._end_of(outcome))

    def _end_of(self, outcome: Outcome) -> End:
        if self._stopping:
            return End(ProcessState.STOPPED, outcome.code)
        if outcome.failure is not None:
            return End(ProcessState.FAILED, outcome.code, outcome.failure)
        if outcome.timed_out:
            return End(ProcessState.TIMED_OUT, outcome.code)
        return End(ProcessState.EXITED, outcome.code)


def sheet_of(commands: Commands, process: Process, workspace: Path, interrupt: Interrupt) -> Sheet:
    """Return what the shim is told of a process: as for exec, but for how long it may take.

    Raises ToolError when it must not run, Interrupted.
    """
    folder, seconds = Path(process.folder), process.seconds
    if seconds is not None and seconds > _LONGEST:
        seconds = None
    order = Order(process.command, folder, seconds, process.place, process.agent)
    return commands.sheet(order, workspace, interrupt)
