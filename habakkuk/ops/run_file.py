"""What a running `up` says of itself in $HABAKKUK_HOME/run.json, for the CLI and the next `up`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from habakkuk.core.config.settings import Settings, parse_listen
from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.home import HomeFolder, write_private
from habakkuk.ops.identity import ProcessIdentity

State = Literal["starting", "running"]


@dataclass(frozen=True)
class RunFile:
    """One `up`: itself, what it serves and the processes that it keeps."""

    up: ProcessIdentity
    state: State
    listen: str
    detached: bool = False
    database_url: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)
    local_model_url: str | None = None
    processes: Mapping[str, ProcessIdentity] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where a browser on this machine finds it."""
        return browser_address(parse_listen(self.listen))


class _Process(BaseModel):
    model_config = ConfigDict(frozen=True)

    pid: int
    started: str


class _Stored(BaseModel):
    """The file's form."""

    up: _Process
    state: State
    listen: str
    detached: bool = False
    database_url: str | None = None
    redis_url: str | None = None
    local_model_url: str | None = None
    processes: dict[str, _Process] = {}


def write_run(home: HomeFolder, run: RunFile) -> None:
    """Replace the file, readable by its owner alone: the URLs may hold passwords."""
    write_private(home.run_file, json.dumps(dataclasses.asdict(run), indent=1).encode())


def read_run(home: Path) -> RunFile | None:
    """Return the running `up` of this home, None when none runs.

    Raises ConfigurationError when the home belongs to another user.
    """
    run = read_last_run(home)
    return run if run is not None and run.up.alive() else None


def read_last_run(home: Path) -> RunFile | None:
    """Return what the last `up` said, living or not; None when nothing readable is there."""
    path = HomeFolder(home).run_file
    try:
        stored = _Stored.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None
    except PermissionError as error:
        raise ConfigurationError(
            f"{path}: cannot be read; run this as the user who started Habakkuk"
        ) from error
    fields = stored.model_dump(exclude={"up", "processes"})
    processes = {name: _identity(process) for name, process in stored.processes.items()}
    return RunFile(up=_identity(stored.up), processes=processes, **fields)


def _identity(process: _Process) -> ProcessIdentity:
    return ProcessIdentity(process.pid, process.started)


def resolve_settings(settings: Settings) -> Settings:
    """Complete the settings: the environment first, then the running `up` of this home.

    Raises ConfigurationError, in one sentence, when neither names the databases.
    """
    if settings.database_url and settings.redis_url:
        return settings
    run = read_run(settings.home)
    if run is None:
        raise ConfigurationError(
            f"Habakkuk is not running for {settings.home}; start it with ./scripts/up, or set"
            " DATABASE_URL and REDIS_URL"
        )
    database_url = settings.database_url or run.database_url
    redis_url = settings.redis_url or run.redis_url
    if database_url is None or redis_url is None:
        raise ConfigurationError("Habakkuk is still starting; try again in a few seconds")
    named = settings.environment.get("HABAKKUK_LISTEN")
    return dataclasses.replace(
        settings,
        database_url=database_url,
        redis_url=redis_url,
        listen=settings.listen if named else parse_listen(run.listen),
    )


def browser_address(listen: tuple[str, int]) -> str:
    """Return the URL under which this machine reaches what listens on `listen`."""
    host = reachable_host(listen[0])
    return f"http://[{host}]:{listen[1]}" if ":" in host else f"http://{host}:{listen[1]}"


def reachable_host(host: str) -> str:
    """Return an address of this machine for what listens on `host`, which may mean all of them."""
    everywhere = {"0.0.0.0": "127.0.0.1", "*": "127.0.0.1", "::": "::1"}  # noqa: S104 - names it, binds nothing
    return everywhere.get(host, host)
