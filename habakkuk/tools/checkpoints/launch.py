"""Run git as the agents' user where folders above are closed to it: a program, run by path as root.

`python -I -S launch.py ORDER`, the order as JSON. In a mount namespace of its own the topmost
closed folder holds nothing but the workspace and the repository; other processes see no change.
Then the user is changed and git takes this process's place.
"""

from __future__ import annotations

import json
import os
import sys

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
    # Last, so that nothing of ours stands in for a module of the system's.
    sys.path.append(__file__.rsplit("/", 4)[0])
    from habakkuk.tools import mounts  # noqa: PLC0415 - after the path is known

    if not mounts.own_view():
        raise Refused(f"{hide} is closed to the agents' user, and this system makes no view for it")
    try:
        mounts.show_only(hide, keep)
    except mounts.NotMounted as error:
        raise Refused(f"no view of {error.target}: {error.reason}") from error


if __name__ == "__main__":
    # The folders on the way must let the user pass.
    os.umask(0o022)
    try:
        main(json.loads(sys.argv[1]))
    except (OSError, Refused) as error:
        os.write(2, f"{error}\n".encode())
        os._exit(_COULD_NOT)
