"""`celery -A` for worker processes with the test handlers."""

from __future__ import annotations

from habakkuk.core.config.settings import load_settings
from tests.integration.jobs.source import build_source
from workers.factory import make_celery

celery = make_celery(load_settings(), build_source, "tests.integration.jobs.probe_app")
