"""Run git as the agents' user where folders above are closed to it: a program, run by path as root.

`python -I -S launch.py ORDER`, the order as JSON. In a mount namespace of its own the topmost
closed folder holds nothing but the workspace and the repository; other processes see no change.
Then the user is changed and git takes this process's place.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

_CLONE_NEWNS = 0x0002_0000
_MS_NOSUID, _MS_NODEV = 2, 4
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_COULD_NOT = 126


class Refused(Exception):
    """What the system did not allow."""


def main(order: dict[str, object]) -> None:
    """Make the view, give up the rights, become git. Never returns."""
    hide, keep, user = order["hide"], order["keep"], order["user"]
    command, folder, variables = order["command"], order["folder"], order["variables"]
    assert isinstance(keep, list)  # noqa: S101 - one writer, one reader
    assert isinstance(user, list)  # noqa: S101 - see above
    assert isinstance(command, list)  # noqa: S101 - see above
    assert isinstance(variables, dict)  # noqa: S101 - see above
    _show_only(str(hide), [str(path) for path in keep])
    os.umask(0o077)
    os.setgroups([])
    os.setgid(user[1])
    os.setuid(user[0])
    os.chdir(str(folder))
    os.execve(command[0], command, variables)  # noqa: S606 - its purpose


def _show_only(hide: str, keep: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0:
        raise Refused(f"{hide} is closed to the agents' user, and this system makes no view for it")
    _mount(libc, "none", "/", "", _MS_REC | _MS_PRIVATE)
    kept = [(path, os.open(path, _FOLDER)) for path in keep]
    data = "mode=0755,size=64k,nr_inodes=128"
    _mount(libc, "tmpfs", hide, "tmpfs", _MS_NOSUID | _MS_NODEV, data)
    for path, handle in kept:
        os.makedirs(path, mode=0o755, exist_ok=True)  # noqa: PTH103 - pathlib would double this program's start
        _mount(libc, f"/proc/self/fd/{handle}", path, "", _MS_BIND | _MS_REC)


def _mount(
    libc: ctypes.CDLL, source: str, target: str, kind: str, flags: int, data: str = ""
) -> None:
    done = libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    if done != 0:
        raise Refused(f"no view of {target}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    # The folders on the way must let the user pass.
    os.umask(0o022)
    try:
        main(json.loads(sys.argv[1]))
    except (OSError, Refused) as error:
        os.write(2, f"{error}\n".encode())
        os._exit(_COULD_NOT)
