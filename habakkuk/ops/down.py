"""`down`: end the `up` of this home, or what a killed one left."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from habakkuk.ops.console import Console
from habakkuk.ops.home import HomeFolder
from habakkuk.ops.leftovers import end_leftovers
from habakkuk.ops.lock import take_lock
from habakkuk.ops.run_file import RunFile, read_last_run

# Two stages of ten seconds, and what the databases need.
_END_SECONDS = 40.0


def end_up(root: Path, console: Console) -> None:
    """End it and say what was done; nothing running is no fault.

    Raises Conflict when an `up` is just starting, ConfigurationError for another user's home.
    """
    run = read_last_run(root)
    if run is None:
        console.say(f"Habakkuk is not running for {root}.")
        return
    if run.up.alive():
        _end_running(run, console)
    _end_rest(root, console)


def _end_running(run: RunFile, console: Console) -> None:
    began = time.monotonic()
    run.up.send(signal.SIGTERM)
    with console.step("Waiting for running turns to be given back"):
        ended = run.up.wait(_END_SECONDS)
    if not ended:
        run.up.send(signal.SIGKILL)
        run.up.wait(_END_SECONDS)
    how = f"after {time.monotonic() - began:.1f} s" if ended else "by force: it did not end itself"
    console.say(f"Stopped Habakkuk (pid {run.up.pid}, {run.address}) {how}.")


def _end_rest(root: Path, console: Console) -> None:
    """End what a killed `up` left, holding the lock so that no new one starts meanwhile."""
    home = HomeFolder(root)
    lock = take_lock(home)
    try:
        left = read_last_run(root)
        if left is None:
            return
        ended = end_leftovers(left)
        home.run_file.unlink(missing_ok=True)
    finally:
        os.close(lock)
    if ended:
        console.say(f"Ended what a killed run had left: {', '.join(ended)}.")
    else:
        console.say(f"Habakkuk is not running for {root}.")
