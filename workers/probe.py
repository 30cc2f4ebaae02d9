"""`python -m workers.probe [QUEUE ...]`: run the jobs that killed their workers, one by one.

It serves the queues of the worker that starts it, all when none is named, and ends after the last.
Ends early, giving its job back, on SIGTERM, SIGINT, or when something comes over its standard
input: that is the pipe from the worker that started it. When the worker is killed, which says
nothing, it goes on: where workers die one after the other, a probe that died with each of them
would never get to run.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from habakkuk.bootstrap import build
from habakkuk.core.config.settings import load_settings
from habakkuk.core.hardening import forbid_inspection
from habakkuk.core.log import configure_logging
from habakkuk.core.redaction import Redactor
from habakkuk.jobs.probe import Probe
from habakkuk.jobs.types import Queue

_POOL_SIZE = 4


def main() -> int:
    """Run the probe to its end."""
    forbid_inspection()
    settings = load_settings()
    configure_logging(settings.config.logs.level, Redactor(settings.secrets), process="probe")
    container = build(settings, name="probe", pool_size=_POOL_SIZE)
    run_until_told(Probe(container, sys.argv[1:] or list(Queue)))
    container.close()
    return 0


def run_until_told(probe: Probe, signals: Sequence[int] = (signal.SIGTERM, signal.SIGINT)) -> int:
    """Run the probe; a signal or a word over standard input stops it."""

    def told(*_: Any) -> None:
        # In a thread: the one that was interrupted may hold a lock that stopping needs.
        threading.Thread(target=probe.stop, name="ending", daemon=True).start()

    for number in signals:
        signal.signal(number, told)
    threading.Thread(target=await_word, args=(told,), name="input", daemon=True).start()
    return probe.run()


def await_word(told: Any, handle: int = 0) -> None:
    """Call `told` when the worker says that it ends; not when it is gone without a word."""
    # Not through sys.stdin: a thread that waits in its buffer makes Python abort at the end.
    if os.read(handle, 1):
        told()


if __name__ == "__main__":
    sys.exit(main())
