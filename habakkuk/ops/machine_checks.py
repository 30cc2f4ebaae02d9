"""The doctor's checks that need no server: Python, the home, the disk."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from pathlib import Path

from habakkuk.core.agent_user import AGENT_USER, find_agent_user
from habakkuk.ops.findings import Finding, fail, ok, warn
from habakkuk.tools.walls import open_walls

_OLDEST_PYTHON = (3, 11)
_SCARCE_BYTES = 1_000_000_000
_FULL_BYTES = 200_000_000


def check_python() -> Finding:
    """Check the interpreter's version."""
    found = platform.python_version()
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return fail("python", found, "install Python 3.11 or later and remove .venv")
    return ok("python", found)


def check_home(home: Path) -> Finding:
    """Check that the home is there, ours and closed to others."""
    if not home.is_dir():
        return warn("home", f"{home} is not there yet", "start with ./scripts/up")
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return fail("home", f"{home} cannot be written", "run this as the user who owns it")
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        return warn("home", f"others may look into {home}", f"chmod 700 {home}")
    return ok("home", str(home))


def check_secrets(home: Path) -> Finding:
    """Check that the file of keys is readable by its owner alone."""
    path = home / ".env"
    if not path.exists():
        return ok("secrets", f"no {path}")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return warn("secrets", f"others may read {path}", f"chmod 600 {path}")
    return ok("secrets", str(path))


def check_disk(home: Path) -> Finding:
    """Check that there is room: a full disk stops the database."""
    folder = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:.1f} GB free"
    if free < _FULL_BYTES:
        return fail("disk", found, f"make room on the file system of {folder}")
    if free < _SCARCE_BYTES:
        return warn("disk", found, f"make room on the file system of {folder}")
    return ok("disk", found)


def check_agent_wall(home: Path) -> Finding:
    """Say what of Habakkuk an agent's commands could reach."""
    walls = open_walls(home)
    if not walls:
        return ok("agents' user", f"commands of agents run as {AGENT_USER}, in their workspace")
    if os.geteuid() != 0:
        *found, advice = walls
        return warn("agents' user", "\n".join(found), advice)
    if find_agent_user() is None:
        return fail("agents' user", walls[0], "start with ./scripts/up, which makes it")
    advice = "mend that, or run Habakkuk in its container"
    return warn("agents' user", "\n".join(walls), advice)
