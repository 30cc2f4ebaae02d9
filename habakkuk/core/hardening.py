"""What a server process gives up at its start."""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_DUMPABLE = 4
_OTHERS_READ_AND_WRITE = 0o026


def forbid_inspection() -> bool:
    """Keep other processes of this user from reading this one's memory and environment in /proc.

    Without it a command that the agent starts reads the server's secrets however clean its own
    environment is. Linux only; returns whether it was done.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


def keep_files_closed() -> None:
    """Let nobody else read or write the files that this process makes from now on.

    The group may read, since containers of several users share a home. Folders may be passed: an
    agent's commands reach their workspace through them. What is closed further stays so.
    """
    before = os.umask(0o077)
    os.umask(before | _OTHERS_READ_AND_WRITE)
