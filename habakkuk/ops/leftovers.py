"""What a killed `up` left running: ended by the next one, or by `down`."""

from __future__ import annotations

import signal
import time
from collections.abc import Collection

from habakkuk.ops.identity import ProcessIdentity
from habakkuk.ops.run_file import RunFile

_END_SECONDS = 10.0
_DATABASES = ("postgresql", "valkey")


def end_leftovers(run: RunFile, keep: Collection[str] = ()) -> list[str]:
    """End the processes that `run` names, databases last; return the names of those that ran.

    `keep` names those that will be adopted. A pid that another process has now is not touched.
    """
    names = [name for name in run.processes if name not in keep]
    first = [name for name in names if name not in _DATABASES]
    last = [name for name in names if name in _DATABASES]
    return [*_end({n: run.processes[n] for n in first}), *_end({n: run.processes[n] for n in last})]


def _end(processes: dict[str, ProcessIdentity]) -> list[str]:
    running = {name: process for name, process in processes.items() if process.alive()}
    for name, process in running.items():
        process.send(signal.SIGINT if name == "postgresql" else signal.SIGTERM)
    deadline = time.monotonic() + _END_SECONDS
    for name, process in running.items():
        if not process.wait(max(0.0, deadline - time.monotonic())):
            process.send(signal.SIGQUIT if name == "postgresql" else signal.SIGKILL)
            process.wait(_END_SECONDS)
    return list(running)
