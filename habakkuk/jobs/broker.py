"""How Celery speaks to Redis: one set of settings for whoever publishes and whoever consumes."""

from __future__ import annotations

from typing import Any

from habakkuk.core.redis import PREFIX, broker_url

RUN_JOB = "habakkuk.run_job"
CANARY = "habakkuk.canary"
SWEEP = "habakkuk.sweep"
MAINTAIN = "habakkuk.maintain"


def broker_settings(redis_url: str) -> dict[str, Any]:
    """Return the Celery settings that every app on this broker must share.

    The shortest visibility timeout of all apps on one Redis wins. A message that comes back while
    its job runs costs one statement: the row decides.
    """
    return {
        "broker_url": broker_url(redis_url),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "visibility_timeout": 300,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_timeout": 5,
            "socket_connect_timeout": 5,
            "health_check_interval": 10,
            "global_keyprefix": f"{PREFIX}q:",
        },
        "visibility_timeout": 300,
        "result_backend": None,
        "task_ignore_result": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "worker_send_task_events": False,
        "event_queue_expires": 60.0,
    }


def producer_settings(redis_url: str) -> dict[str, Any]:
    """Return the settings of an app that only publishes, and gives up within a second."""
    settings = broker_settings(redis_url)
    settings["broker_transport_options"] |= {
        "socket_timeout": 1,
        "socket_connect_timeout": 0.5,
        "max_retries": 0,
        "interval_start": 0,
        "interval_step": 0,
        "interval_max": 0,
    }
    settings["task_publish_retry"] = False
    settings["broker_pool_limit"] = 1
    return settings
