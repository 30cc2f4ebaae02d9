"""The Celery app. Its messages are wake-ups that may be lost or doubled; the job's row decides."""

from __future__ import annotations

from habakkuk.bootstrap import build
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.hardening import keep_files_closed
from habakkuk.core.log import configure_logging
from habakkuk.core.redaction import Redactor
from habakkuk.jobs.host import JobSource
from workers.factory import make_celery


def build_worker(settings: Settings) -> JobSource:
    """Build the container of a worker process, its logs first in place."""
    configure_logging(settings.config.logs.level, Redactor(settings.secrets), process="worker")
    return build(settings, name="worker")


keep_files_closed()
celery = make_celery(load_settings(), build_worker)
