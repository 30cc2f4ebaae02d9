"""What workers and beat load, all at once, for the process that forks them."""

from __future__ import annotations

import importlib

from habakkuk.bootstrap import build
from habakkuk.core.config.settings import Settings

# Celery finds these by name when it starts, and some of ours are loaded at their first use. Not
# what is run, such as workers.worker: that would be loaded twice.
_FOUND_BY_NAME = (
    "argparse",
    "billiard.dummy",
    "billiard.pool",
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.concurrency.thread",
    "celery.events.dispatcher",
    "celery.events.receiver",
    "celery.fixups.django",
    "celery.loaders.app",
    "celery.loaders.default",
    "celery.utils.deprecated",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.strategy",
    "kombu.pidbox",
    "kombu.transport.redis",
    "dbm.dumb",
    "habakkuk.core.fetch",
    "workers.factory",
)


def load(settings: Settings) -> None:
    """Load it. Opens no connection and starts no thread. Raises ConfigurationError."""
    for name in _FOUND_BY_NAME:
        importlib.import_module(name)
    # The parts find tools, commands and providers in their folders, so they are made to look.
    container = build(settings, name="preload")
    container.warm()
    container.close()
