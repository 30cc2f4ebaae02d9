"""The files of one home, and where its databases keep theirs."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from habakkuk.core.errors import ConfigurationError

# The folder for data of a home whose `up` runs as root: the databases run as another user, who
# must not need a way into root's home.
ROOT_DATA = Path("/var/lib/habakkuk")
_TO_PASS = stat.S_IXGRP | stat.S_IXOTH
_ROTATE_BYTES = 5_000_000
_KEPT_LOGS = 3


@dataclass(frozen=True)
class HomeFolder:
    """The names of what lies in $HABAKKUK_HOME."""

    root: Path

    @property
    def logs(self) -> Path:
        """The folder of one log a process."""
        return self.root / "logs"

    @property
    def run_file(self) -> Path:
        """What `up` says of itself while it runs."""
        return self.root / "run.json"

    @property
    def lock(self) -> Path:
        """Held by the running `up`."""
        return self.root / "up.lock"

    @property
    def instance(self) -> Path:
        """The random id of this home."""
        return self.root / "instance"

    def log(self, name: str) -> Path:
        """Return the log file of one process."""
        return self.logs / f"{name}.log"


def prepare_home(root: Path) -> HomeFolder:
    """Make the home and its folders, closed to others. Raises ConfigurationError."""
    home = HomeFolder(root)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.logs.mkdir(mode=0o700, exist_ok=True)
        if not os.access(root, os.W_OK | os.X_OK):
            raise PermissionError(13, "permission denied")
    except OSError as error:
        raise ConfigurationError(
            f"{root}: cannot be used as Habakkuk's home ({(error.strerror or str(error)).lower()});"
            " set HABAKKUK_HOME to a folder of your own"
        ) from error
    return home


def instance_id(home: HomeFolder) -> str:
    """Return the home's random id, made at the first call."""
    try:
        stored = home.instance.read_text("ascii").strip()
    except FileNotFoundError:
        stored = ""
    if stored:
        return stored
    made = secrets.token_hex(8)
    write_private(home.instance, f"{made}\n".encode())
    return made


def data_folder(home: HomeFolder) -> Path:
    """Return the folder below which the databases keep their data.

    Raises ConfigurationError when the data of this home was made by another kind of user: the
    answer would be an empty database, and the old one would look lost.
    """
    if os.geteuid() != 0:
        return home.root
    if (home.root / "postgresql").exists():
        raise ConfigurationError(
            f"{home.root}: its database belongs to the user who made it; run ./scripts/up as that"
            " user, or set HABAKKUK_HOME to another folder"
        )
    return ROOT_DATA / instance_id(home)


def make_root_data(name: str = "") -> Path:
    """Make root's folder of data, or one in it, and return it: everybody may pass through both.

    Whatever umask this runs under: an `up --detach` has one that closes all that it makes.
    """
    folder = ROOT_DATA / name
    for one in dict.fromkeys((ROOT_DATA, folder)):
        one.mkdir(exist_ok=True, parents=True)
        if one.stat().st_mode & _TO_PASS != _TO_PASS:
            one.chmod(0o755)
    return folder


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` with `content`, mode 0600: after a crash it is the old or the new, whole."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def open_log(path: Path) -> int:
    """Return a descriptor that appends to a log; one that grew large is moved out of the way."""
    if path.exists() and path.stat().st_size > _ROTATE_BYTES:
        for number in range(_KEPT_LOGS, 0, -1):
            source = path if number == 1 else path.with_name(f"{path.name}.{number - 1}")
            if source.exists():
                source.replace(path.with_name(f"{path.name}.{number}"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def last_lines(path: Path, count: int = 8) -> list[str]:
    """Return the last lines of a log, none when there is no log."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - 16_384))
            text = log.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    return [line[:300] for line in text.splitlines() if line.strip()][-count:]
