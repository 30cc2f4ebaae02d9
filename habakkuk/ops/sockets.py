"""The folder of the databases' sockets: closed to others, with a path that fits into an address."""

from __future__ import annotations

import os
import socket
import stat
import sys
import tempfile
from pathlib import Path

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.account import ServiceUser
from habakkuk.ops.home import HomeFolder, instance_id

# sun_path holds 108 bytes on Linux and 104 on macOS and BSD, the ending NUL included.
_PATH_LIMIT = 107 if sys.platform == "linux" else 103
_LONGEST_NAME = "/.s.PGSQL.5432"


def socket_folder(home: HomeFolder, data: Path, user: ServiceUser | None) -> Path:
    """Return the folder, made when missing.

    Beside the data where that fits, else below the temporary folder. Its permissions are what
    protects the databases: who can open a socket in it is trusted.
    """
    beside = data / "run"
    if _fits(beside):
        _make(beside, user)
        return beside
    short = Path(tempfile.gettempdir()) / f"habakkuk-{os.geteuid()}-{instance_id(home)}"
    if not _fits(short):
        raise ConfigurationError(
            f"{beside}: too long for a socket's path ({_PATH_LIMIT} bytes); set HABAKKUK_HOME to a"
            " shorter path"
        )
    _make(short, user)
    return short


def _fits(folder: Path) -> bool:
    """Whether sockets in `folder` have short enough paths and its file system knows sockets."""
    if len(os.fsencode(folder)) + len(_LONGEST_NAME) > _PATH_LIMIT:
        return False
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    probe = folder / f".probe.{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.bind(str(probe))
        except OSError:
            return False
        finally:
            probe.unlink(missing_ok=True)
    return True


def _make(folder: Path, user: ServiceUser | None) -> None:
    """Close the folder to everybody but its user. In /tmp somebody else may have made it first."""
    owner = user.uid if user else os.geteuid()
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {owner, os.geteuid()}:
        raise ConfigurationError(
            f"{folder}: belongs to somebody else and cannot hold the databases' sockets; remove it"
        )
    folder.chmod(0o700)
    if user is not None:
        os.chown(folder, user.uid, user.gid)
