"""How a process that serves one thing runs, from its start to its end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from habakkuk.bootstrap import Container, build
from habakkuk.core.config.environment import Environment
from habakkuk.core.config.settings import load_settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.hardening import forbid_inspection, keep_files_closed
from habakkuk.core.heap import use_one_heap
from habakkuk.core.log import configure_logging
from habakkuk.core.priority import give_way
from habakkuk.core.redaction import Redactor
from habakkuk.ops.stop import StopSignal

_POOL_SIZE = 4
_TICK_SECONDS = 60.0


class Service(Protocol):
    """What serves: `start` returns at once, `stop` when all of it has ended."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End."""


def serve(
    name: str,
    make: Callable[[Container], Service],
    environment: Environment | None = None,
    *,
    steps_back: bool = False,
) -> int:
    """Run a service until the process is told to end; return its exit code.

    `steps_back`: as a worker does, since what it starts are agents' commands.
    """
    use_one_heap()
    forbid_inspection()
    keep_files_closed()
    try:
        settings = load_settings(environment)
        level, redactor = settings.config.logs.level, Redactor(settings.secrets)
        # First: what is logged before would be in no form, and show secrets.
        configure_logging(level, redactor, process=name)
        give_way(settings.config.worker_niceness if steps_back else 0)
        container = build(settings, name=name, pool_size=_POOL_SIZE)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    stop = StopSignal()
    stop.listen()
    service = make(container)
    service.start()
    while not stop.requested:
        stop.sleep(_TICK_SECONDS)
    service.stop()
    container.close()
    return 0
