"""What a server process gives up at its start."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def forbid_inspection() -> bool:
    """Keep other processes of this user from reading this one's memory and environment in /proc.

    Without it a command that the agent starts reads the server's secrets however clean its own
    environment is. Linux only; returns whether it was done.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
