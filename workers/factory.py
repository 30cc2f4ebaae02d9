"""How the workers' Celery app is made: its settings and its four tasks."""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu import Queue as BrokerQueue

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.jobs.broker import CANARY, MAINTAIN, RUN_JOB, SWEEP, broker_settings
from habakkuk.jobs.types import Queue
from workers.connection import BriskAMQP
from workers.life import Build, WorkerLife


def make_celery(settings: Settings, build_source: Build, probe: str = "workers.probe") -> Celery:
    """Return the app of one process. Nothing connects before the worker starts.

    `probe` is the module that runs the jobs which killed their workers. Raises ConfigurationError.
    """
    if settings.redis_url is None:
        raise ConfigurationError("REDIS_URL is not set: workers wake up over Redis")
    app = Celery("habakkuk", set_as_current=False, amqp=BriskAMQP)
    app.conf.update(broker_settings(settings.redis_url))
    app.conf.update(_worker_settings())
    _add_tasks(app, WorkerLife(app, settings, build_source, probe))
    return app


def _worker_settings() -> dict[str, Any]:
    return {
        # Late, for whoever reads the broker; what counts is the row. See docs/decisions.
        "task_acks_late": True,
        "task_reject_on_worker_lost": False,
        "worker_prefetch_multiplier": 1,
        "worker_pool": "threads",
        "worker_enable_remote_control": False,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_redirect_stdouts": False,
        "task_queues": [BrokerQueue(queue.value) for queue in Queue],
        "task_default_queue": Queue.MAINTENANCE.value,
        "timezone": "UTC",
    }


def _add_tasks(app: Celery, life: WorkerLife) -> None:
    @app.task(name=RUN_JOB, bind=True)
    def run_job(self: Any, job_id: str) -> None:
        """Look at job `job_id`."""
        life.run_job(self.request.delivery_info["routing_key"], job_id)

    @app.task(name=SWEEP)
    def sweep() -> None:
        """Look for what nobody woke."""
        life.sweep()

    @app.task(name=MAINTAIN)
    def maintain() -> None:
        """Enqueue what is due today."""
        life.maintain()

    @app.task(name=CANARY)
    def canary() -> None:
        """Show that this worker consumes."""
        life.canary_seen()
