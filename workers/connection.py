"""A broker connection that is back soon after its broker is."""

from __future__ import annotations

from typing import Any

from celery.app.amqp import AMQP
from kombu import Connection

# Celery's own pauses grow to half a minute and cannot be set.
_PAUSES = {"interval_start": 0.5, "interval_step": 0.5, "interval_max": 2.0}


class BriskConnection(Connection):
    """Tries again every two seconds at the latest."""

    def ensure_connection(  # type: ignore[override]  # passes on whatever Celery gives
        self, *args: Any, **options: Any
    ) -> Connection:
        """Connect, with short pauses between the tries."""
        return super().ensure_connection(*args, **(_PAUSES | options))


class BriskAMQP(AMQP):
    """What an app makes its connections with."""

    Connection = BriskConnection
