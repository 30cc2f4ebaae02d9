"""How a child that reads what anybody wrote gives up everything else.

It loads what it needs first. Then it can open nothing more, neither a file nor a socket, start
nothing and write nothing, has limits of memory and time, and as root it is nobody. For good: none
of these limits can be raised again. Imported by such programs alone; it imports nothing of ours.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass

_PR_SET_PDEATHSIG = 1  # Linux: include/uapi/linux/prctl.h
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWNET = 0x4000_0000
_NOBODY = 65_534


@dataclass(frozen=True)
class Allowance:
    """What is left to a child: bytes of memory, seconds of processor, and seconds in all."""

    memory: int
    cpu_seconds: int
    wall_seconds: int


def die_with_parent() -> None:
    """End when the parent's thread does, where the system has that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def give_up(allowance: Allowance) -> None:
    """Give up everything but memory and time, in bounds."""
    if sys.platform == "linux":
        _give_up_on_linux(allowance)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seconds = allowance.cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
        # The change of user has undone it.
        die_with_parent()
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    # Neither files nor sockets: what is open stays open.
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    signal.alarm(allowance.wall_seconds)


def _give_up_on_linux(allowance: Allowance) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (allowance.memory, allowance.memory))
    libc = ctypes.CDLL(None)
    # Where the system allows it; the limits of `give_up` do not need it.
    libc.unshare(_CLONE_NEWNET)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
