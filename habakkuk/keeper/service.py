"""The keeper: one a home, from its start to its end the only one who starts processes there."""

from __future__ import annotations

import fcntl
import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from habakkuk.core.errors import ToolError
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.ids import random_id
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.db.listen import listening
from habakkuk.jobs.loop import Loop
from habakkuk.keeper.kept import Kept, sheet_of
from habakkuk.keeper.notices import Door, Notices
from habakkuk.processes import store
from habakkuk.processes.desk import MOST_ENDED
from habakkuk.processes.log import log_folder, remove_log, remove_old_logs
from habakkuk.processes.types import End, Process, ProcessState
from habakkuk.tools.commands import Commands

_log = get_logger("keeper")
# When nobody calls: what was told while nothing listened is found by then.
_LOOK_SECONDS = 2.0
_TIDY_SECONDS = 3600.0
_KEPT_LOG_SECONDS = 86_400.0
# Longer than whoever asked waits for it.
_LATE_SECONDS = 60.0
_LATE = "it was not started: the service that keeps background processes came too late for it"
_NOT_TAKEN = "it was not started: the database did not answer; try again"
# From the wish to end to the end: two seconds of asking, and the kill.
_END_SECONDS = 5.0
_RECORD_SECONDS = 1.5


@dataclass(frozen=True)
class KeeperPorts:
    """How commands become processes, what an agent's workspace is, and where ends are told."""

    commands: Commands
    workspace: Callable[[str], Path]
    door: Door


class Keeper:
    """Keeps processes. `start` returns at once; `stop` ends them all."""

    def __init__(
        self, database: Database, home: Path, ports: KeeperPorts, failpoints: Failpoints
    ) -> None:
        """Prepare; nothing is started yet."""
        self._ports = ports
        self._database = database
        self._hit = failpoints.hit
        self._id = random_id("keeper")
        self._folder = log_folder(home)
        self._running: dict[str, Kept] = {}
        # Each in a thread of its own: to get a container or a connection may take minutes.
        self._starting: dict[str, Interrupt] = {}
        self._started: queue.SimpleQueue[tuple[str, Kept | End]] = queue.SimpleQueue()
        self._ends: queue.SimpleQueue[tuple[str, End]] = queue.SimpleQueue()
        self._unrecorded: dict[str, End] = {}
        self._settled: queue.SimpleQueue[tuple[str, str, bool]] = queue.SimpleQueue()
        self._unsettled: dict[tuple[str, str], bool] = {}
        self._notices = Notices(database, ports.door, failpoints)
        # Readable once the line is to end: it would wait for the database a second longer.
        self._stopped, self._stopping = os.pipe()
        self._lock: int | None = None
        self._opened = False
        self._tidied = float("-inf")
        self._loop = Loop("keeping", self._keep)
        self._line = Loop("listening", self._listen)

    def start(self) -> None:
        """Start the threads."""
        self._folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        self._loop.start()
        self._line.start()

    def stop(self) -> None:
        """End every process, note that, and let go of the home."""
        self._loop.stop()
        until = time.monotonic() + _END_SECONDS
        for interrupt in self._starting.values():
            interrupt.trip(Reason.STOPPING)
        self._ask_all()
        with suppress(queue.Empty):
            while self._starting:
                self._take_started(max(0.0, until - time.monotonic()))
        # And those that began just now.
        self._ask_all()
        for kept in self._running.values():
            kept.wait(max(0.0, until - time.monotonic()))
        self._record_last()
        os.write(self._stopping, b".")
        self._line.stop()
        for handle in (self._stopped, self._stopping, self._lock):
            if handle is not None:
                os.close(handle)

    def _ask_all(self) -> None:
        for kept in self._running.values():
            kept.end(stopping=True)

    def _record_last(self) -> None:
        until = time.monotonic() + _RECORD_SECONDS
        while True:
            try:
                self._record_ends()
            except DatabaseAway as error:
                # The next keeper finds them as lost.
                _log.warning("ends are not noted: the database is away", detail=error.detail)
                if time.monotonic() < until:
                    time.sleep(0.2)
                    continue
            return

    def _listen(self) -> float:
        """Be called when there is something to do; the name of the line shows that we are here."""
        with listening(self._database, store.CONNECTION, store.CHANNEL) as line:
            self._loop.kick()
            while not self._line.stopping:
                if line.wait(1.0, self._stopped):
                    self._loop.kick()
        return 0.0

    def _keep(self) -> float:
        """Do all that there is to do."""
        if not self._holds_home():
            return 1.0
        if not self._opened:
            self._open()
        self._begin_started()
        self._record_ends()
        self._notices.tell()
        self._start_new()
        self._settle()
        self._pass_input()
        self._compare()
        self._tidy()
        return _LOOK_SECONDS

    def _holds_home(self) -> bool:
        """Take the home, which the system gives back however its keeper ends."""
        if self._lock is not None:
            return True
        handle = os.open(self._folder / "keeper.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            _log.warning("another service keeps the processes of this home; waiting for its end")
            return False
        self._lock = handle
        return True

    def _open(self) -> None:
        """Note what a killed keeper had: its commands died with it."""
        lost = store.lose(self._database, self._id)
        if lost:
            _log.warning("processes were lost with the service that kept them", processes=lost)
        self._opened = True

    def _start_new(self) -> None:
        store.withdraw_late(self._database, _LATE_SECONDS, _LATE)
        while not self._loop.stopping and (process := store.claim(self._database, self._id)):
            self._hit("process.claim.after")
            interrupt = self._starting[process.id] = Interrupt()
            threading.Thread(
                target=self._start, args=(process, interrupt), name="starting", daemon=True
            ).start()

    def _start(self, process: Process, interrupt: Interrupt) -> None:
        """Start one process. The top of its thread."""
        self._started.put((process.id, self._made(process, interrupt)))
        self._loop.kick()

    def _made(self, process: Process, interrupt: Interrupt) -> Kept | End:
        try:
            workspace = self._ports.workspace(process.agent)
            sheet = sheet_of(self._ports.commands, process, workspace, interrupt)
            kept = Kept(process, sheet, self._folder, self._note_end)
        except Interrupted as told:
            stops = told.reason is Reason.STOPPING
            return End(ProcessState.STOPPED if stops else ProcessState.KILLED)
        except (ToolError, OSError) as error:
            return End(ProcessState.FAILED, reason=str(error))
        except Exception as error:  # noqa: BLE001 - the top of the thread: its row must not wait for ever
            _log.exception("a process cannot be started", process=process.id)
            return End(ProcessState.FAILED, reason=f"it was not started: {type(error).__name__}")
        if self._loop.stopping:
            kept.end(stopping=True)
        return kept

    def _begin_started(self) -> None:
        """Note what runs by now."""
        while not self._started.empty():
            process_id = self._take_started()
            if process_id in self._running:
                self._hit("process.start.after")
                store.begin(self._database, process_id, self._id)
                _log.info("a process runs", process=process_id)

    def _take_started(self, seconds: float = 0.0) -> str:
        """Take one that was started, or its end when that failed; return its id.

        Raises queue.Empty when there is none in time.
        """
        process_id, made = self._started.get(timeout=seconds)
        if isinstance(made, Kept):
            self._running[process_id] = made
        else:
            self._unrecorded[process_id] = made
        self._starting.pop(process_id, None)
        return process_id

    def _note_end(self, process_id: str, end: End) -> None:
        """Take an end, in the process's own thread."""
        self._ends.put((process_id, end))
        self._loop.kick()

    def _record_ends(self) -> None:
        """Write down what ended; one that cannot be written now is kept for the next time."""
        while not self._ends.empty():
            process_id, end = self._ends.get()
            self._unrecorded[process_id] = end
        for process_id, end in list(self._unrecorded.items()):
            if process_id in self._starting:
                # It ended before we were told that it runs.
                continue
            self._hit("process.end.before")
            store.finish(self._database, process_id, self._id, end)
            self._hit("process.end.after")
            del self._unrecorded[process_id]
            self._running.pop(process_id, None)
            _log.info("a process ended", process=process_id, state=str(end.state), code=end.code)
            self._tidied = min(self._tidied, time.monotonic() - _TIDY_SECONDS)

    def _pass_input(self) -> None:
        for item in store.take_inputs(self._database, self._id):
            self._hit("process.take.after")
            kept = self._running.get(item.process_id)
            done = partial(self._note_settled, item.process_id, item.key)
            if kept is None:
                done(False)  # noqa: FBT003 - what the callback is about
            else:
                kept.give(item.data, done, eof=item.eof)

    def _note_settled(self, process_id: str, key: str, taken: bool) -> None:  # noqa: FBT001 - a callback
        self._settled.put((process_id, key, taken))
        self._loop.kick()

    def _settle(self) -> None:
        """Write down what became of input."""
        while not self._settled.empty():
            process_id, key, taken = self._settled.get()
            self._unsettled[process_id, key] = taken
        for (process_id, key), taken in list(self._unsettled.items()):
            store.settle(self._database, process_id, key, "written" if taken else "closed")
            del self._unsettled[process_id, key]

    def _compare(self) -> None:
        """Do what the rows say of what runs: the rows are right."""
        rows = store.own(self._database, self._id)
        for process_id, kept in self._running.items():
            row = rows.get(process_id)
            if (row is None or row.kill_asked) and not kept.told_to_end:
                kept.end()
            elif row is not None and not row.begun:
                # The database was away when it began.
                store.begin(self._database, process_id, self._id)
        for process_id, interrupt in self._starting.items():
            row = rows.get(process_id)
            if row is None or row.kill_asked:
                interrupt.trip(Reason.CANCELLED)
        for process_id in rows.keys() - self._running.keys() - self._starting.keys():
            # Whether it was taken was not known when the database went away.
            end = End(ProcessState.FAILED, reason=_NOT_TAKEN)
            store.finish(self._database, process_id, self._id, end)

    def _tidy(self) -> None:
        """Forget what ended long ago, with its output."""
        if time.monotonic() < self._tidied + _TIDY_SECONDS:
            return
        for process_id in store.forget(self._database, MOST_ENDED):
            remove_log(self._folder, process_id)
        remove_old_logs(self._folder, _KEPT_LOG_SECONDS, self._running)
        self._tidied = time.monotonic()
