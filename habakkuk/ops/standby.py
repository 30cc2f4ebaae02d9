"""The database of a home for one command: the one that runs, else the home's own for as long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError, Conflict
from habakkuk.ops.databases import prepare_postgres
from habakkuk.ops.home import HomeFolder, data_folder, prepare_home
from habakkuk.ops.lock import take_lock
from habakkuk.ops.run_file import read_run
from habakkuk.ops.unit import Unit

_END_SECONDS = 30.0


@contextmanager
def database_of(settings: Settings, *, make: bool = False) -> Iterator[str]:
    """Yield the URL of the home's database: named by the environment, served by `up`, or by us.

    While it is ours no `up` can start. With `make` one is made where there is none. Raises
    ConfigurationError and Conflict.
    """
    if settings.database_url is not None:
        yield settings.database_url
        return
    run = read_run(settings.home)
    if run is not None:
        if run.database_url is None:
            raise ConfigurationError("Habakkuk is still starting; try again in a few seconds")
        yield run.database_url
        return
    home = prepare_home(settings.home)
    if not make and not (data_folder(home) / "postgresql").exists():
        raise Conflict(f"{settings.home} has no database yet")
    lock = take_lock(home)
    try:
        with _running(settings, home) as url:
            yield url
    finally:
        os.close(lock)


@contextmanager
def _running(settings: Settings, home: HomeFolder) -> Iterator[str]:
    server = prepare_postgres(settings, home)
    try:
        server.start()
        yield server.url
    finally:
        _end(server)


def _end(server: Unit) -> None:
    server.ask_to_end()
    if server.identity is not None and not server.identity.wait(_END_SECONDS):
        server.kill()
    server.ended()
