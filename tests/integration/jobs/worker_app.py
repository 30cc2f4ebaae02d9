"""A worker process with the test handlers; a nursery forks it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from habakkuk.core.config.settings import load_settings
from tests.integration.jobs.source import build_source
from workers.factory import make_celery
from workers.worker import serve

_PROBE = "tests.integration.jobs.probe_app"


def run(arguments: Sequence[str], variables: Mapping[str, str]) -> None:
    """Be the worker that these arguments and variables describe."""
    # For the probe as well, which is started as a program and finds them there.
    os.environ.clear()
    os.environ.update(variables)
    settings = load_settings()
    app = make_celery(settings, build_source, _PROBE)
    sys.exit(serve(app, settings.config.workers, arguments))
