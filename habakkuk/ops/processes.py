"""The table of Habakkuk's processes: the same commands under `up` and in containers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from habakkuk.channels.registry import polled
from habakkuk.core.config.settings import Settings

ROOT = Path(__file__).parents[2]
QUEUES = ("turns", "subturns", "deliveries", "schedules", "maintenance")
# Named, not imported: it stands above. Has `load(settings)`.
PRELOAD = "workers.preload"
# Two, so that one can die while the other recovers its work.
WORKERS = 2


@dataclass(frozen=True)
class ProcessSpec:
    """One process: its name, its command, what it needs in its environment beside the common.

    `preloaded`: the command is `python -m …` and needs nothing but what PRELOAD loads, so that it
    can be a fork of the process that has.
    """

    name: str
    command: tuple[str, ...]
    preloaded: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


def web() -> ProcessSpec:
    """Return the web process; where it listens is in deploy/gunicorn.conf.py."""
    config = str(ROOT / "deploy" / "gunicorn.conf.py")
    # Its control socket's default place is shared by all of a user's gunicorns.
    options = ("-c", config, "--no-control-socket")
    return ProcessSpec("web", (sys.executable, "-m", "gunicorn", *options, "web:create_app()"))


def worker(name: str, queues: tuple[str, ...] = QUEUES) -> ProcessSpec:
    """Return a worker for some queues."""
    options = ("--name", name, "--queues", ",".join(queues))
    return ProcessSpec(name, (sys.executable, "-m", "workers.worker", *options), preloaded=True)


def beat(home: Path) -> ProcessSpec:
    """Return the process of the fixed cadences; inside a worker it would outlive a kill."""
    options = ("--state", str(home / "beat-schedule"))
    return ProcessSpec("beat", (sys.executable, "-m", "workers.beat", *options), preloaded=True)


def keeper() -> ProcessSpec:
    """Return the process that keeps background commands: in a worker they would end with it."""
    return ProcessSpec("processes", (sys.executable, "-m", "workers.processes"), preloaded=True)


def channels() -> ProcessSpec:
    """Return the process that listens to the platforms whose messages have to be fetched."""
    return ProcessSpec("channels", (sys.executable, "-m", "workers.channels"), preloaded=True)


def migration() -> ProcessSpec:
    """Return the process that brings the database up to date and ends."""
    return ProcessSpec("migrate", (sys.executable, "-m", "web.cli", "migrate"), preloaded=True)


def local_model(port: int, model: Path) -> ProcessSpec:
    """Return the process of the bundled model."""
    command = (sys.executable, "-m", "habakkuk.ops.local_model")
    return ProcessSpec("local-model", (*command, "--port", str(port), "--model", str(model)))


def standard_processes(
    settings: Settings,
) -> tuple[tuple[ProcessSpec, ...], tuple[ProcessSpec, ...]]:
    """Return what `up` runs beside the databases and the local model.

    First the processes that serve, then those that nobody waits for.
    """
    workers = (worker(f"worker-{number}") for number in range(1, WORKERS + 1))
    listening = (channels(),) if polled(settings.config.channels) else ()
    return (web(), *workers, keeper()), (beat(settings.home), *listening)
