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
    if os.getsid(0) == os.getpid():
        # Not there: a system without it. Refused: it may be written ten times a second.
        with suppress(OSError):
            _SESSION.write_text(str(niceness))
