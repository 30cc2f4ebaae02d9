"""The child that reads one document: `python -I program.py ORDER`, the document as its input.

It loads what it needs and then gives everything up: it can open nothing more, neither a file nor a
socket, start nothing and write nothing, has limits of memory and time, and as root it is nobody.
Then it reads. Documents are written by anybody, and the reader of PDFs is a large C++ program.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from dataclasses import asdict
from pathlib import Path

_MEMORY = 1_500_000_000
_CPU_SECONDS = 40
_WALL_SECONDS = 80
_PR_SET_PDEATHSIG = 1  # Linux: include/uapi/linux/prctl.h
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWNET = 0x4000_0000
_NOBODY = 65_534
_MEMORY_FAILS = "it takes too much memory to read"


def main() -> None:
    """Read the order and the document, give up what is not needed, answer."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from habakkuk.documents.reading import read  # noqa: PLC0415 - after the path is known
    from habakkuk.documents.types import Unreadable  # noqa: PLC0415 - as above

    order = json.loads(sys.argv[1])
    data = sys.stdin.buffer.read()
    _warm()
    give_up()
    try:
        found = read(data, order["pages"], order["offset"], order["limit"])
        told = asdict(found) | {"chosen": list(found.chosen)}
    except Unreadable as unreadable:
        told = {"unreadable": str(unreadable)}
    except MemoryError:
        told = {"unreadable": _MEMORY_FAILS}
    sys.stdout.buffer.write(json.dumps(told).encode())
    sys.stdout.buffer.flush()
    # Nothing is to be tidied up, and a broken library could hang in it.
    os._exit(0)


def _warm() -> None:
    """Load what would be loaded later, when no file can be opened any more."""
    "".encode("utf-16-le").decode("utf-16")
    "".encode("cp437")
    from xml.parsers import expat  # noqa: PLC0415 - loaded, never used here

    expat.ParserCreate()


def give_up() -> None:
    """Give up everything but memory and time, in bounds. For good: limits cannot be raised."""
    if sys.platform == "linux":
        _give_up_on_linux()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    # Neither files nor sockets: what is open stays open.
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    signal.alarm(_WALL_SECONDS)


def _give_up_on_linux() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    libc = ctypes.CDLL(None)
    # Where the system allows it, which the limits below do not need.
    libc.unshare(_CLONE_NEWNET)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


if __name__ == "__main__":
    _die_with_parent()
    main()
