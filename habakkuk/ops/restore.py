"""`restore`: bring back a backup, into an empty home or in place of what is there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import Conflict, Invalid
from habakkuk.db.engine import Database
from habakkuk.db.migrate import known_revisions, migrate
from habakkuk.ops.archive import Member, Reader, read_small, unpack
from habakkuk.ops.backup import run_client, server_major
from habakkuk.ops.binaries import find_client
from habakkuk.ops.manifest import (
    DUMP,
    HOME,
    LARGEST_MANIFEST,
    MANIFEST,
    Manifest,
    kept,
    kept_entries,
    read_manifest,
)
from habakkuk.ops.run_file import read_run
from habakkuk.ops.scratch import scratch
from habakkuk.ops.standby import database_of
from habakkuk.ops.store import holds_something, other_processes

_OWN = "habakkuk restore"


@dataclass(frozen=True)
class Restored:
    """What was brought back, and the schema that it has now."""

    manifest: Manifest
    revision: str


def restore_backup(settings: Settings, source: IO[bytes], *, replace: bool) -> Restored:
    """Bring a backup back. With `replace` what is there goes away for it.

    Everything is unpacked and checked before anything is changed; the database changes in one
    transaction, then the files. Raises Invalid, Conflict, DatabaseAway, ConfigurationError and
    BackupFailed; after any of them the database is as it was.
    """
    run = read_run(settings.home)
    if run is not None:
        raise Conflict(
            f"Habakkuk runs for {settings.home} (pid {run.up.pid}); end it first:"
            " ./scripts/habakkuk down"
        )
    with scratch(settings.home) as staging:
        manifest = _unpack_all(source, staging)
        _check_revision(manifest)
        with database_of(settings, make=True) as url:
            _check_target(url, settings.home, replace=replace)
            _restore_database(settings, manifest, staging, url)
            _restore_files(settings.home, staging, secrets=manifest.secrets)
            return Restored(manifest, migrate(url))


def _unpack_all(source: IO[bytes], staging: Path) -> Manifest:
    members = Reader(source).members()
    first, content = next(members, (None, None))
    if first is None or content is None or first.parts != (MANIFEST,):
        raise Invalid("this is no backup of Habakkuk")
    manifest = read_manifest(read_small(content, LARGEST_MANIFEST))
    for member, content in members:
        if not _belongs(member, manifest):
            raise Invalid(f"the backup holds {'/'.join(member.parts)!r:.200}, which is not its own")
        unpack(member, content, staging.joinpath(*member.parts))
    if not (staging / DUMP).is_file():
        raise Invalid("the backup is cut off: it has no database")
    return manifest


def _belongs(member: Member, manifest: Manifest) -> bool:
    if member.parts == (DUMP,):
        return not member.folder
    head, *rest = member.parts
    return head == HOME and bool(rest) and kept(rest[0], secrets=manifest.secrets)


def _check_revision(manifest: Manifest) -> None:
    if manifest.revision not in known_revisions():
        raise Conflict(
            f"the backup was made by Habakkuk {manifest.habakkuk} with the schema"
            f" {manifest.revision}, which this one does not know; update Habakkuk first"
        )


def _check_target(url: str, home: Path, *, replace: bool) -> None:
    database = Database(url, pool_size=1, name=_OWN)
    try:
        others = other_processes(database, _OWN)
        if others:
            raise Conflict(
                f"this database is in use by {', '.join(others)}; end these processes first"
            )
        if replace:
            return
        if holds_something(database):
            raise Conflict(
                "this database holds conversations or people already; with --yes the backup takes"
                " their place"
            )
    finally:
        database.dispose()
    there = next(kept_entries(home, secrets=False), None)
    if there is not None:
        raise Conflict(f"{there} exists already; with --yes the backup takes its place")


def _restore_database(settings: Settings, manifest: Manifest, staging: Path, url: str) -> None:
    target = server_major(url)
    if target < manifest.server:
        raise Conflict(
            f"the backup is of a PostgreSQL {manifest.server}, and this one is {target}; restore"
            " it into one that is not older"
        )
    search = settings.environment.get("PATH") or os.defpath
    oldest = max(manifest.dump, target)
    script = staging / "database.sql"
    written = find_client("pg_restore", oldest, search)
    options = ["--no-owner", "--no-privileges", "-f", str(script), str(staging / DUMP)]
    run_client(written, options, url)
    run_client(
        find_client("psql", oldest, search),
        [
            *("-X", "-q", "-v", "ON_ERROR_STOP=1", "--single-transaction", "-o", os.devnull),
            *("-c", "SET client_min_messages = warning"),
            *("-c", "DROP SCHEMA public CASCADE", "-c", "CREATE SCHEMA public"),
            *("-f", str(script)),
        ],
        url,
    )


def _restore_files(home: Path, staging: Path, *, secrets: bool) -> None:
    """Put the files into their places; what was there goes with the scratch folder."""
    gone = staging / "gone"
    gone.mkdir()
    for entry in list(kept_entries(home, secrets=secrets)):
        entry.rename(gone / entry.name)
    found = staging / HOME
    if not found.is_dir():
        return
    _give_to_owner(found, home.stat())
    for entry in sorted(found.iterdir()):
        entry.rename(home / entry.name)


def _give_to_owner(folder: Path, owner: os.stat_result) -> None:
    """Let the files belong to whom the home belongs, where root restores for another user."""
    if os.geteuid() != 0:
        return
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(here, name), owner.st_uid, owner.st_gid, follow_symlinks=False)
