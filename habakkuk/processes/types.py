"""Background processes as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from habakkuk.core.ids import derive

_ID_LENGTH = 18


class ProcessState(StrEnum):
    """Where a process stands.

    `failed` could not be started; `killed` was ended by its agent or the operator; `stopped` ended
    with the service that kept it, `lost` when that service was killed.
    """

    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    TIMED_OUT = "timed_out"
    KILLED = "killed"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"

    @property
    def alive(self) -> bool:
        """Whether it runs or is about to."""
        return self in {ProcessState.STARTING, ProcessState.RUNNING}


@dataclass(frozen=True)
class NewProcess:
    """A command to keep running.

    `folder` is where it starts, an absolute path, and `place` the device and inode of that folder
    as it was looked at. `seconds` None sets no limit. `notify`: its end starts a turn.
    """

    id: str
    agent: str
    session_id: str
    turn_id: str
    command: str
    folder: str
    place: tuple[int, int] | None = None
    seconds: float | None = None
    notify: bool = False


@dataclass(frozen=True)
class Process:
    """One process as its row says.

    `code` is negative for a signal, None while it runs and when nobody saw its end. `reason` says
    why it could not be started, or who ended it. `ran` is for how many seconds it has run, None
    when it never did; `ago` is how many seconds ago it ended. `kill_asked`: it was told to end.
    """

    id: str
    agent: str
    session_id: str
    turn_id: str
    command: str
    folder: str
    place: tuple[int, int] | None
    seconds: float | None
    notify: bool
    state: ProcessState
    code: int | None
    reason: str
    created: datetime
    ran: float | None
    ago: float | None
    kill_asked: bool


@dataclass(frozen=True)
class End:
    """How a process ended: `code` and `reason` as in Process."""

    state: ProcessState
    code: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class NewInput:
    """Something to write to a process; `key` names the call, so that it is written once."""

    process_id: str
    key: str
    data: bytes
    eof: bool


@dataclass(frozen=True)
class Census:
    """Whether the service that keeps processes is there, and how many run."""

    kept: bool
    running: int


# Says why input may not follow what a process was given before, None when it may.
Judge = Callable[[bytes], str | None]


class Written(StrEnum):
    """What became of input. `pending`: the process has not read what it was given before."""

    WRITTEN = "written"
    PENDING = "pending"
    CLOSED = "closed"


def process_id(turn_id: str, call_id: str) -> str:
    """Return the id of the process that a call starts: the same call starts no second one.

    Short, since models copy it.
    """
    return derive("p", turn_id, call_id)[:_ID_LENGTH]
