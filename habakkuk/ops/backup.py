"""`backup`: the database and the home's files in one file, while everything runs."""

from __future__ import annotations

import contextlib
import os
import secrets as random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from habakkuk import __version__
from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import Conflict, HabakkukError
from habakkuk.db.engine import Database
from habakkuk.db.libpq import libpq_variables
from habakkuk.db.revision import current_revision
from habakkuk.ops.archive import Writer
from habakkuk.ops.binaries import Binary, find_client
from habakkuk.ops.manifest import DUMP, HOME, MANIFEST, Manifest, kept_entries
from habakkuk.ops.scratch import scratch
from habakkuk.ops.spawn import PLAIN_VARIABLES, Program, run_tool
from habakkuk.ops.standby import database_of
from habakkuk.ops.store import server_settings

# The largest database of one server that a person keeps can take this long.
_DUMP_SECONDS = 6 * 3600.0
_PER_MAJOR = 10_000


class BackupFailed(HabakkukError):
    """The backup was not made; nothing was left behind."""


@dataclass(frozen=True)
class Made:
    """What was written: how many files beside the database, and how many links were skipped."""

    files: int
    skipped: int


def make_backup(settings: Settings, out: IO[bytes], *, secrets: bool) -> Made:
    """Write a backup to `out`; with `secrets` the home's .env too.

    The database is dumped first: a file is written before the row that names it, so every file
    that the dump names is found after it. Raises DatabaseAway, ConfigurationError, BackupFailed.
    """
    with database_of(settings) as url, scratch(settings.home) as folder:
        server = server_major(url)
        program = find_client("pg_dump", server, settings.environment.get("PATH") or os.defpath)
        manifest = Manifest(
            format=1,
            habakkuk=__version__,
            revision=_revision(url),
            created=datetime.now(UTC),
            server=server,
            dump=program.major,
            secrets=secrets,
        )
        dump = folder / DUMP
        run_client(program, ["-Fc", "--no-owner", "--no-privileges", "-f", str(dump)], url)
        writer = Writer(out)
        writer.add_bytes(MANIFEST, manifest.model_dump_json(indent=1).encode())
        writer.add_file(DUMP, dump)
    writer.files = 0
    for entry in kept_entries(settings.home, secrets=secrets):
        writer.add_tree(f"{HOME}/{entry.name}", entry)
    writer.close()
    return Made(writer.files, writer.skipped)


@contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """Open a new file, 0600, that stands under its name when it is complete, and not before.

    Raises Conflict when there is one.
    """
    if target.exists():
        raise Conflict(f"{target} exists already; name another file")
    temporary = target.with_name(f".{target.name}.{random.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(handle)
        # Unlike a rename this never replaces what came there meanwhile.
        os.link(temporary, target)
    except FileExistsError as error:
        raise Conflict(f"{target} exists already; name another file") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def server_major(url: str) -> int:
    """Return the major version of a database's server. Raises DatabaseAway."""
    database = Database(url, pool_size=1, name="habakkuk backup")
    try:
        return int(server_settings(database)["server_version_num"]) // _PER_MAJOR
    finally:
        database.dispose()


def run_client(program: Binary, arguments: list[str], url: str) -> None:
    """Run one of PostgreSQL's programs on a database. Raises BackupFailed with what it said."""
    variables = {**PLAIN_VARIABLES, **libpq_variables(url)}
    command = Program([str(program.path), *arguments], Path("/"), variables)
    try:
        code, said = run_tool(command, seconds=_DUMP_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackupFailed(f"{program.path} does not run: {error}") from error
    if code != 0:
        reason = " ".join(said.strip().splitlines()[-3:])
        raise BackupFailed(f"{program.path.name} {program.version} failed: {reason}")


def _revision(url: str) -> str:
    found = current_revision(url)
    if found is None:
        raise Conflict("there is nothing to back up: this home has no database yet")
    return found
