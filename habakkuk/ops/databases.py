"""The databases of one machine: those that the environment names, else our own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from habakkuk.core.config.settings import Settings
from habakkuk.ops.account import ServiceUser, service_user
from habakkuk.ops.binaries import find_postgres, find_valkey, reachable
from habakkuk.ops.home import HomeFolder, data_folder, make_root_data
from habakkuk.ops.postgres import PostgresPlace, PostgresServer
from habakkuk.ops.sockets import socket_folder
from habakkuk.ops.unit import Unit
from habakkuk.ops.valkey import ValkeyPlace, ValkeyServer


@dataclass(frozen=True)
class Databases:
    """Where PostgreSQL and Redis answer, and the servers that are ours to start and stop."""

    database_url: str
    redis_url: str
    servers: tuple[Unit, ...]


def prepare_databases(settings: Settings, home: HomeFolder) -> Databases:
    """Return what the environment names, and a server of our own for what it does not.

    The servers' `start` starts or adopts them. Raises ConfigurationError.
    """
    valkey = None if settings.redis_url else prepare_valkey(settings, home)
    postgres = None if settings.database_url else prepare_postgres(settings, home)
    return Databases(
        database_url=postgres.url if postgres else str(settings.database_url),
        redis_url=valkey.url if valkey else str(settings.redis_url),
        servers=tuple(server for server in (valkey, postgres) if server is not None),
    )


def prepare_postgres(settings: Settings, home: HomeFolder) -> PostgresServer:
    """Return the home's own PostgreSQL, not started. Raises ConfigurationError."""
    user = service_user()
    base = data_folder(home)
    _make_base(base, user)
    data = base / "postgresql"
    place = PostgresPlace(data, socket_folder(home, base, user), user)
    binary = reachable(find_postgres(_written_by(data), _search(settings)), user)
    return PostgresServer(binary, place, home.log("postgresql"))


def prepare_valkey(settings: Settings, home: HomeFolder) -> ValkeyServer:
    """Return the home's own Valkey, not started. Raises ConfigurationError."""
    user = service_user()
    base = data_folder(home)
    _make_base(base, user)
    data = base / "valkey"
    data.mkdir(mode=0o700, exist_ok=True)
    if user is not None:
        os.chown(data, user.uid, user.gid)
    binary = reachable(find_valkey(_search(settings)), user)
    place = ValkeyPlace(data, socket_folder(home, base, user), user)
    return ValkeyServer(binary, place, home.log("valkey"))


def _make_base(base: Path, user: ServiceUser | None) -> None:
    """Make the folder of the data; as root its user's own, below one that all may pass."""
    if user is None:
        return
    make_root_data()
    base.mkdir(mode=0o700, exist_ok=True)
    os.chown(base, user.uid, user.gid)


def _written_by(data: Path) -> int | None:
    try:
        return int((data / "PG_VERSION").read_text().strip())
    except (FileNotFoundError, ValueError):
        return None


def _search(settings: Settings) -> str:
    return settings.environment.get("PATH") or os.defpath
