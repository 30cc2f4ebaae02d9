"""Show a process nothing of a folder but chosen parts: for programs that root starts by path.

It imports no more than they have anyway, since they are started for every command.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

NOSUID, NODEV, REMOUNT, BIND, READ_ONLY = 2, 4, 32, 4096, 1
_CLONE_NEWNS = 0x0002_0000
_REC, _PRIVATE = 16384, 1 << 18
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotMounted(Exception):
    """What the system did not allow: the reason in its words, and the folder."""

    def __init__(self, reason: str, target: str) -> None:
        """Keep both."""
        super().__init__(f"{reason} ({target})")
        self.reason = reason
        self.target = target


def own_view() -> bool:
    """Give this process mounts of its own; False where the system refuses that."""
    return bool(ctypes.CDLL(None).unshare(_CLONE_NEWNS) == 0)


def show_only(hide: str, keep: Sequence[str]) -> None:
    """Put an empty folder in the place of `hide`, with nothing but the folders `keep` in it.

    For a process with a view of its own; others see no change. Raises NotMounted, OSError.
    """
    mount("none", "/", "", _REC | _PRIVATE)
    kept = [(path, os.open(path, _FOLDER)) for path in keep]
    mount("tmpfs", hide, "tmpfs", NOSUID | NODEV, "mode=0755,size=64k,nr_inodes=128")
    for path, handle in kept:
        os.makedirs(path, mode=0o755, exist_ok=True)  # noqa: PTH103 - pathlib would double the start of who uses it
        mount(f"/proc/self/fd/{handle}", path, "", BIND | _REC)
        os.close(handle)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Call the system's function of that name. Raises NotMounted."""
    done = ctypes.CDLL(None, use_errno=True).mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    if done != 0:
        raise NotMounted(os.strerror(ctypes.get_errno()), target)
