"""What a backup says of itself, in its first file; and what of a home a backup holds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from habakkuk.core.errors import Invalid

MANIFEST = "backup.json"
DUMP = "database.dump"
HOME = "home"
SECRETS = ".env"
LARGEST_MANIFEST = 100_000
# The databases' own data is in the dump, or can be lost; the rest belongs to a run.
_NOT_KEPT = frozenset(
    {"postgresql", "valkey", "run", "logs", "procs", "run.json", "up.lock", "instance"}
    # Git may write to the checkpoints meanwhile, and they can be as large as all the rest.
    | {"beat-schedule", "checkpoints"}
    # Private keys, made anew from their variables, and sockets of connections.
    | {"ssh"}
)


class Manifest(BaseModel):
    """The versions that a backup was made by."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1]
    habakkuk: str
    revision: str
    created: datetime
    server: int
    dump: int
    secrets: bool


def read_manifest(raw: bytes) -> Manifest:
    """Return what a backup says of itself. Raises Invalid."""
    try:
        return Manifest.model_validate_json(raw)
    except ValidationError as error:
        raise Invalid("this is no backup of Habakkuk, or one of a later form") from error


def kept(name: str, *, secrets: bool) -> bool:
    """Whether a backup holds this entry of the home's top."""
    if name == SECRETS:
        return secrets
    hidden = name.startswith(".")
    return not hidden and name not in _NOT_KEPT and not name.startswith("beat-schedule.")


def kept_entries(home: Path, *, secrets: bool) -> Iterator[Path]:
    """Yield what a backup holds of a home, in order."""
    for entry in sorted(home.iterdir()) if home.is_dir() else ():
        if kept(entry.name, secrets=secrets) and not entry.is_symlink():
            yield entry
