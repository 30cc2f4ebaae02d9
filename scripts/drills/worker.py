"""`python -m scripts.drills.worker …`: a worker of the product, with what a drill may add to it.

The arguments are those of `workers.worker`. DRILL_FAILPOINT arms points in this
process alone: the probe that it starts inherits nothing, since a job that dies there is set aside
by design. DRILL_HOLD names a point where this process waits until a file is there. DRILL_MUTANT
takes one guard out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from habakkuk.bootstrap import build
from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.log import configure_logging
from habakkuk.core.priority import give_way
from habakkuk.jobs.host import JobSource
from scripts.drills.holding import hold
from scripts.drills.mutants.apply import apply
from workers.factory import make_celery
from workers.worker import serve

FAILPOINT, HOLD, MUTANT = "DRILL_FAILPOINT", "DRILL_HOLD", "DRILL_MUTANT"


def run(arguments: Sequence[str], variables: Mapping[str, str]) -> None:
    """Be the worker that these arguments and variables describe. Raises SystemExit at its end."""
    armed = dict(variables)
    if spec := variables.get(FAILPOINT):
        armed["HABAKKUK_FAILPOINT"] = spec
    if place := variables.get(HOLD):
        hold(*place.split("=", 1))
    if name := variables.get(MUTANT):
        apply(name)
    # Not its main, which reads the process's own environment: its children would, too.
    settings = load_settings(read_environment(armed))
    give_way(settings.config.worker_niceness)
    sys.exit(serve(make_celery(settings, _source), settings.config.workers, arguments))


def after_the_module(command: Sequence[str]) -> tuple[str, ...]:
    """Return what follows `-m workers.worker` in a command of the process table."""
    return tuple(command[command.index("-m") + 2 :])


def _source(settings: Settings) -> JobSource:
    """Build the container as workers.worker does."""
    container = build(settings, name="worker")
    configure_logging(settings.config.logs.level, container.redactor, process="worker")
    return container


if __name__ == "__main__":
    run(sys.argv[1:], read_environment().process)
