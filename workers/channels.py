"""`python -m workers.channels`: the process that listens to chat platforms, to its end."""

from __future__ import annotations

import sys

from habakkuk.bootstrap import build
from habakkuk.core.config.environment import Environment
from habakkuk.core.config.settings import load_settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.hardening import forbid_inspection, keep_files_closed
from habakkuk.core.heap import use_one_heap
from habakkuk.core.log import configure_logging
from habakkuk.core.redaction import Redactor
from habakkuk.ops.stop import StopSignal

_POOL_SIZE = 4
_TICK_SECONDS = 60.0


def main(environment: Environment | None = None) -> int:
    """Listen until told to end."""
    use_one_heap()
    forbid_inspection()
    keep_files_closed()
    try:
        settings = load_settings(environment)
        level, redactor = settings.config.logs.level, Redactor(settings.secrets)
        # First: what is logged before would be in no form, and show secrets.
        configure_logging(level, redactor, process="channels")
        container = build(settings, name="channels", pool_size=_POOL_SIZE)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    stop = StopSignal()
    stop.listen()
    supervisor = container.supervisor()
    supervisor.start()
    while not stop.requested:
        stop.sleep(_TICK_SECONDS)
    supervisor.stop()
    container.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
