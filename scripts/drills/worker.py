"""`python -m scripts.drills.worker …`: `celery …` of the product, with what a drill may add.

Armed failpoints hold for this process alone: the probe that it starts is another process, and a
job that dies there is set aside by design. DRILL_HOLD names a point where this process waits until
a file is there. DRILL_MUTANT takes one guard out.
"""

from __future__ import annotations

import os
import sys

from celery.__main__ import main

from habakkuk.core.config.environment import read_environment
from scripts.drills.holding import hold
from scripts.drills.mutants.apply import apply
from workers import app


def run() -> None:
    """Prepare this process, then be Celery's program."""
    environment = read_environment()
    if app.celery is None:
        raise RuntimeError("the Celery app is missing")
    os.environ.pop("HABAKKUK_FAILPOINT", None)  # noqa: TID251 - the app has read it; its children must not
    if place := environment.get("DRILL_HOLD"):
        hold(*place.split("=", 1))
    if name := environment.get("DRILL_MUTANT"):
        apply(name)
    sys.argv[0] = "celery"
    main()


if __name__ == "__main__":
    run()
