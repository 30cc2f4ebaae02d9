"""One `up` a home: the lock that the kernel gives back however its holder ends."""

from __future__ import annotations

import fcntl
import os

from habakkuk.core.errors import Conflict
from habakkuk.ops.home import HomeFolder
from habakkuk.ops.run_file import read_run


def take_lock(home: HomeFolder) -> int:
    """Return the lock's descriptor, to be kept open. Raises Conflict when another `up` has it."""
    handle = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise Conflict(_who_runs(home)) from error
    return handle


def _who_runs(home: HomeFolder) -> str:
    run = read_run(home.root)
    if run is None:
        return f"Habakkuk is just starting or ending for {home.root}; try again in a few seconds"
    state = "already runs" if run.state == "running" else "is already starting"
    return (
        f"Habakkuk {state} for {home.root} (pid {run.up.pid}, {run.address});"
        " ./scripts/habakkuk down ends it"
    )
