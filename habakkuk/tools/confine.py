"""Close the file system and sockets to the process that calls this, and to all that it starts.

Loaded by the shim, by path, and run by itself to see whether it works here:
`python -I -S confine.py LIBRARY SITE`. It cannot be undone. Files are Landlock's work, through the
library that is named; sockets are closed by a seccomp filter, since Landlock knows TCP alone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import sys
from collections.abc import Callable

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_FILTER = 2
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_EACCES, _ENOSYS = 13, 38
_LOAD, _EQUAL, _SET, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_NUMBER_AT, _ARCH_AT, _FIRST_AT, _SECOND_AT = 0, 4, 16, 24
_X32 = 0x40000000
_DATAGRAM = 2
# AUDIT_ARCH, and the numbers of socket, socketpair and io_uring_setup.
_MACHINES = {
    "x86_64": (0xC000003E, 41, 53, 425),
    "aarch64": (0xC00000B7, 198, 199, 425),
    "riscv64": (0xC00000F3, 198, 199, 425),
}
# IPv4, IPv6, and netlink, by which programs look up what addresses the machine has.
_INTERNET = (2, 10, 16)


class Unconfined(Exception):
    """Raised when it cannot be closed: then nothing may be run."""


def prepare(given: dict[str, object]) -> Callable[[], None]:
    """Load what is needed and return what closes it: after that nothing can be loaded any more.

    `given`: `library` and `site`, where it is installed; `read` and `write`, paths; `network`.
    """
    sys.path.append(str(given["site"]))
    read = [path for path in _paths(given["read"]) if os.path.exists(path)]  # noqa: PTH110 - pathlib would double the shim's start
    write = _paths(given["write"])
    close_files = _CLOSERS[str(given["library"])](read, write)
    program = _filter(network=bool(given["network"]))

    def apply() -> None:
        try:
            close_files()
        except Exception as error:
            raise Unconfined(f"the file system cannot be closed to it: {error}") from error
        _close_sockets(program)

    return apply


def _paths(given: object) -> list[str]:
    return [str(path) for path in given] if isinstance(given, list) else []


def _by_sandlock(read: list[str], write: list[str]) -> Callable[[], None]:
    """Files, signals and abstract sockets. Needs Landlock's version 6 (Linux 6.12)."""
    import sandlock  # noqa: PLC0415 - one of two, whichever works here

    policy = sandlock.Sandbox(fs_readable=read, fs_writable=write)
    return lambda: sandlock.confine(policy)


def _by_landlock(read: list[str], write: list[str]) -> Callable[[], None]:
    """Files alone. Needs Landlock's version 3 (Linux 6.2), which knows truncation."""
    import landlock  # noqa: PLC0415 - one of two, whichever works here

    access = landlock.FSAccess
    looks = access.EXECUTE | access.READ_FILE | access.READ_DIR

    def close() -> None:
        rules = landlock.Ruleset()
        for path in read:
            rules.allow(path, rules=looks if os.path.isdir(path) else looks & access.all_file())  # noqa: PTH112 - as above
        for path in write:
            everything = access.all() if os.path.isdir(path) else access.all_file()  # noqa: PTH112 - as above
            rules.allow(path, rules=everything)
        rules.apply()

    return close


_CLOSERS = {"sandlock": _by_sandlock, "landlock": _by_landlock}


def _filter(*, network: bool) -> bytes:
    """Return a program that lets no socket be made, or with `network` those of the internet.

    Sockets of this machine's services stay closed: they would do for a command what it may not.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.byteorder != "little":
        raise Unconfined(f"sockets cannot be closed on a machine of the kind {platform.machine()}")
    arch, make, pair, ring = machine
    families = _INTERNET if network else ()
    refuse = (_RETURN, 0, 0, _REFUSE | _EACCES)
    allow = (_RETURN, 0, 0, _ALLOW)
    lines = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        # The other numbering of x86_64; no number is as high elsewhere.
        (_SET, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE | _ENOSYS),
        # It makes sockets of its own.
        (_EQUAL, 0, 1, ring),
        (_RETURN, 0, 0, _REFUSE | _ENOSYS),
        (_EQUAL, 0, len(families) + 2, make),
        (_LOAD, 0, 0, _FIRST_AT),
        *((_EQUAL, len(families) - place, 0, family) for place, family in enumerate(families)),
        refuse,
        # A socket pair of datagrams can write to any socket that has a name.
        (_EQUAL, 1, 0, pair),
        allow,
        (_LOAD, 0, 0, _SECOND_AT),
        (_AND, 0, 0, 0xF),
        (_EQUAL, 0, 1, _DATAGRAM),
        refuse,
        allow,
    ]
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def _close_sockets(program: bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    lines = ctypes.create_string_buffer(program, len(program))
    form = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(lines))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise Unconfined("the system refuses a precaution (no new privileges)")
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, form, 0, 0) != 0:
        raise Unconfined(f"sockets cannot be closed: {os.strerror(ctypes.get_errno())}")


def main(library: str, site: str) -> int:
    """Try it on this process: 0 when a folder and a socket are closed then."""
    apply = prepare(
        {
            "library": library,
            "site": site,
            "read": ["/usr"],
            "write": ["/dev/null"],
            "network": False,
        }
    )
    apply()
    try:
        os.listdir("/")  # noqa: PTH208 - pathlib would double the shim's start
    except PermissionError:
        pass
    else:
        return 1
    try:
        socket.socket().close()
    except PermissionError:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
