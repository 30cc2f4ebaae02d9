"""Run a program that ends when the process which started it ends, even by kill -9.

`python tether.py PARENT_PID PROGRAM ARGUMENT...`, by path: it imports nothing of Habakkuk, so that
it costs a few milliseconds. Linux only; elsewhere the next `up` ends what a killed one left.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # Linux: include/uapi/linux/prctl.h


def tie_to(parent: int) -> None:
    """End this process by SIGTERM when `parent` ends; at once when it has ended already."""
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        # It died before the tie was made.
        sys.exit(1)


def main(arguments: list[str]) -> None:
    """Tie this process to its parent and become the program."""
    tie_to(int(arguments[0]))
    os.execvp(arguments[1], arguments[1:])  # noqa: S606 - this is its whole purpose


if __name__ == "__main__":
    main(sys.argv[1:])
