"""`celery -A` for worker processes with the test handlers."""

from __future__ import annotations

import sys

from habakkuk.core.config.settings import load_settings
from tests.integration.jobs.source import build_source
from workers import prober
from workers.factory import make_celery

prober._COMMAND = (sys.executable, "-m", "tests.integration.jobs.probe_app")
celery = make_celery(load_settings(), build_source)
