"""`python -m workers.beat`: only sends what is due, by name, so it knows no tasks and no parts."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from celery import Celery, signals
from celery.beat import PersistentScheduler

from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.hardening import forbid_inspection, keep_files_closed
from habakkuk.jobs.broker import MAINTAIN, SWEEP, broker_settings
from habakkuk.jobs.types import Queue
from workers.connection import BriskAMQP

_BEAT_SECONDS = 60.0
# What is spent is summed up every few minutes. The rest is due once a day; as it is asked for as
# often, a missed one does not cost a day.
_MAINTAIN_SECONDS = 300.0


class Steady(PersistentScheduler):
    """Keeps its cadences when the clock of the machine is set back.

    Celery waits until the clock has come again to where it was: for days, also over restarts, since
    what was sent when stands in a file.
    """

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; what was sent in the future counts as sent now."""
        now = self.app.now()
        for entry in self.schedule.values():
            if entry.last_run_at is not None and entry.last_run_at > now:
                entry.last_run_at = now
                # It holds the times at which each is to be looked at.
                self._heap = None
        return super().tick(*args, **kwargs)


def main(arguments: Sequence[str]) -> int:
    """Send until told to end; return the exit code."""
    parser = ArgumentParser(prog="python -m workers.beat", allow_abbrev=False)
    parser.add_argument("--state", required=True, help="the file that keeps what was sent when")
    given = parser.parse_args(arguments)
    forbid_inspection()
    keep_files_closed()
    signals.setup_logging.connect(_leave_logging)
    try:
        app = make_beat(load_settings())
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    app.Beat(schedule=given.state, scheduler="workers.beat:Steady", quiet=True).run()
    return 0


def make_beat(settings: Settings) -> Celery:
    """Return the app; nothing connects before beat starts. Raises ConfigurationError."""
    if settings.redis_url is None:
        raise ConfigurationError("REDIS_URL is not set: beat sends over Redis")
    app = Celery("habakkuk", set_as_current=False, amqp=BriskAMQP)
    app.conf.update(broker_settings(settings.redis_url))
    # Beat only pokes: two of them, or none for a while, change nothing.
    cadences = {
        "safety sweep": _cadence(SWEEP, _BEAT_SECONDS),
        "maintenance": _cadence(MAINTAIN, _MAINTAIN_SECONDS),
    }
    app.conf.update({"timezone": "UTC", "beat_schedule": cadences})
    return app


def _cadence(task: str, seconds: float) -> dict[str, Any]:
    options = {"queue": Queue.MAINTENANCE.value, "expires": seconds}
    return {"task": task, "schedule": seconds, "options": options}


def _leave_logging(**_: Any) -> None:
    """Exist: Celery leaves the logs alone when somebody answers this signal."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
