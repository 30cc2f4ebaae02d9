"""Who goes first when there is not enough processor for all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_SESSION = Path("/proc/self/autogroup")


def give_way(niceness: int) -> None:
    """Let every process with a lower niceness go first from now on; 0 changes nothing.

    Taking what comes in goes before answering it: a platform gives up after seconds, a turn is
    kept. Commands of agents come last (tools/shim.py).

    Linux shares processors out to sessions before it looks at what is in one (sched(7), autogroup):
    a session's leader steps back with all of it.
    """
    if not niceness:
        return
    os.setpriority(os.PRIO_PROCESS, 0, max(niceness, os.getpriority(os.PRIO_PROCESS, 0)))
    _move_session(niceness)


def go_first(niceness: int) -> None:
    """Let this process's session go half as far before others as workers step back; 0: not at all.

    Each connection of PostgreSQL is a session, and so is each other program: among ten that answer,
    the one that takes in would get a tenth. Half as far, since a flood of requests may not starve
    the machine. Only root may ask for it; elsewhere nothing changes.
    """
    if niceness:
        _move_session(-(niceness // 2))


def stepped_back(niceness: int) -> bool:
    """Whether the session that this process leads has gone back so far with it: not 0."""
    return _leads() and os.getpriority(os.PRIO_PROCESS, 0) >= max(niceness, 1)


def hold_back(leader: int, niceness: int) -> None:
    """Let the session that a child of this process leads step back, as far as this one at least.

    A session is a new one for Linux, whatever who started it had said of his own.
    """
    niceness = max(niceness, os.getpriority(os.PRIO_PROCESS, 0))
    if niceness <= 0:
        return
    # It has ended meanwhile; the session as below.
    with suppress(OSError):
        os.setpriority(os.PRIO_PGRP, leader, niceness)
        Path(f"/proc/{leader}/autogroup").write_text(str(niceness))


def _leads() -> bool:
    return os.getsid(0) == os.getpid()


def _move_session(niceness: int) -> None:
    """Set how the session that this process leads stands to others; nothing where it leads none."""
    if not _leads():
        return
    # Not there: a system without it. Refused: to others than root, or ten times a second.
    with suppress(OSError):
        _SESSION.write_text(str(niceness))
