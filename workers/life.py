"""The life of one worker process: what starts with it, and how it ends within ten seconds."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from celery import Celery, signals
from kombu import Queue as BrokerQueue

from habakkuk import __version__
from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import HabakkukError, Unavailable
from habakkuk.core.hardening import forbid_inspection
from habakkuk.core.log import get_logger
from habakkuk.jobs.host import Host, Identity, JobSource
from habakkuk.jobs.wake import Producer
from workers.canary import Canary
from workers.prober import Prober

_log = get_logger("workers")
# Ten seconds are allowed from the signal to the end of the process.
_GIVE_BACK_SECONDS = 7.0
_AT_MOST_SECONDS = 8.5
_LINGER_SECONDS = 1.0
_CANARY_PREFIX = "canary."

Build = Callable[[Settings], JobSource]


class WorkerLife:
    """Ties a Host to a Celery worker. One for each Celery app; nothing starts before the worker."""

    def __init__(self, app: Celery, settings: Settings, build: Build, probe: str) -> None:
        """Listen to Celery's signals; `probe` is the module of the probe program."""
        self._app = app
        self._settings = settings
        self._build = build
        self._source: JobSource | None = None
        self._host: Host | None = None
        self._canary: Canary | None = None
        self._prober = Prober(probe, settings.home / "run")
        self._ending: threading.Thread | None = None
        self._lock = threading.Lock()
        self._connect()

    def run_job(self, queue: str, job_id: str) -> None:
        """Offer a job and wait for its end, so that the message is acknowledged after it."""
        ticket = self._host.offer(queue, job_id) if self._host is not None else None
        if ticket is not None:
            ticket.wait()

    def sweep(self) -> None:
        """Look for what nobody woke, now."""
        if self._host is not None:
            self._host.sweep()

    def maintain(self) -> None:
        """Enqueue what is due today; with the database away, the next hour does."""
        try:
            if self._source is not None:
                self._source.maintain()
        except Unavailable as error:
            _log.info("maintenance waits for the database", detail=str(error))

    def canary_seen(self) -> None:
        """Note that this worker consumes."""
        if self._canary is not None:
            self._canary.seen()

    def end(self, code: int = 0) -> None:
        """Begin to end the process, once: give the jobs back, then leave whatever still runs."""
        with self._lock:
            if self._ending is None:
                name = "ending"
                self._ending = threading.Thread(target=self._end, args=(code,), name=name)
                self._ending.daemon = True
                self._ending.start()

    def _connect(self) -> None:
        # Celery holds weak references unless told otherwise.
        signals.setup_logging.connect(self._leave_logging, weak=False)
        signals.celeryd_init.connect(self._expect_root, weak=False)
        signals.worker_init.connect(self._start, weak=False)
        signals.worker_shutting_down.connect(self._told_to_end, weak=False)
        signals.worker_shutdown.connect(self._wait_for_end, weak=False)
        # Without a broker Celery may end without that signal.
        atexit.register(self._wait_for_end)

    def _leave_logging(self, **_: Any) -> None:
        """Exist: Celery leaves the logs alone when somebody answers this signal."""

    def _expect_root(self, **_: Any) -> None:
        # Containers run as root; messages carry nothing but ids, as JSON.
        warnings.filterwarnings("ignore", message=".*superuser privileges.*")

    def _start(self, sender: Any, **_: Any) -> None:
        """Build everything before the broker is reached: jobs run without it, too."""
        # Celery listens only later, and what starts here should be taken down again.
        signal.signal(signal.SIGTERM, lambda *_: self.end())
        try:
            forbid_inspection()
            self._source = self._build(self._settings)
            sizes = self._sizes()
            self._host = Host(
                self._source,
                Identity(sender.hostname, "worker", __version__),
                sizes,
                partial(self._prober.start, list(sizes)),
            )
            self._host.start()
            self._start_canary(sender.hostname)
        except HabakkukError as error:
            # Celery logs and forgets what a signal raises; only an exit is heard.
            raise SystemExit(str(error)) from error
        except Exception as error:
            _log.exception("the worker could not start")
            raise SystemExit(1) from error

    def _sizes(self) -> dict[str, int]:
        """Return the slots of the queues that this worker was told to serve."""
        pools = self._settings.config.workers
        return {name: pools.of(name) for name in self._app.amqp.queues.consume_from}

    def _start_canary(self, name: str) -> None:
        if self._settings.redis_url is None:
            return
        queue = _CANARY_PREFIX + name
        self._app.amqp.queues.select_add(BrokerQueue(queue))
        producer = Producer(self._settings.redis_url)
        self._canary = Canary(producer, queue, self._has_room, self._deaf)
        self._canary.start()

    def _has_room(self) -> bool:
        return self._host is not None and bool(self._host.runner.free())

    def _deaf(self) -> None:
        """End, to be started again: the broker delivers nothing to this process any more."""
        _log.error("the worker hears nothing although the broker answers; it ends")
        self.end(code=1)

    def _told_to_end(self, **_: Any) -> None:
        if self._host is not None:
            self.end()

    def _wait_for_end(self, **_: Any) -> None:
        if self._ending is not None:
            self._ending.join(_GIVE_BACK_SECONDS)

    def _end(self, code: int) -> None:
        over = threading.Event()
        leaving = threading.Thread(target=_leave, args=(over, code), name="leaving", daemon=True)
        leaving.start()
        try:
            self._prober.tell()
            if self._host is not None:
                self._host.stop(_GIVE_BACK_SECONDS)
            self._prober.stop()
            if self._canary is not None:
                self._canary.stop()
            if self._source is not None:
                self._source.close()
        finally:
            over.set()


def _leave(over: threading.Event, code: int) -> None:
    """End the process, whatever keeps it: a job that does not let go, a broker that is away."""
    over.wait(_AT_MOST_SECONDS)
    time.sleep(_LINGER_SECONDS)
    os._exit(code)
