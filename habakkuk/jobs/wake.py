"""The wake-up port: "look at job X". It may be lost or doubled; the row and the sweep decide.

Two ways over Redis. A new job goes through a list that a worker with a free slot pops from: that
costs a fourth of a Celery message. A job that was taken over from a dead worker goes as a Celery
message, acknowledged late: the second chance does not hang on what may have failed the first time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Protocol

from habakkuk.core.clock import Clock
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs.broker import RUN_JOB, producer_settings
from habakkuk.jobs.store.signals import notify_wakes

if TYPE_CHECKING:
    from celery import Celery

_log = get_logger("jobs.wake")
_PENDING = 10_000
_BATCH = 100
_OPEN_SECONDS = 5.0
_STOP_SECONDS = 2.0


class Wake(Protocol):
    """Tells the workers of a queue that a job is there."""

    def wake(self, queue: str, job_id: str) -> None:
        """Pass it on. Returns at once and never raises."""
        ...

    def stop(self) -> None:
        """Send what waits and let go."""
        ...


class MemoryWake:
    """Keeps what it was told, for tests."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.woken: list[tuple[str, str]] = []

    def wake(self, queue: str, job_id: str) -> None:
        """Remember it."""
        self.woken.append((str(queue), job_id))

    def stop(self) -> None:
        """Keep what was told."""


class Sender(Protocol):
    """One way to the workers. Used by one thread."""

    def send(self, wakes: Sequence[tuple[str, str]]) -> None:
        """Send these (queue, job). Raises whatever its library does, within about a second."""
        ...

    def close(self) -> None:
        """Let go; the next message connects again."""
        ...


class BackgroundWake:
    """Sends from one background thread; through PostgreSQL while `sender` fails.

    Make it in the process that uses it, after a fork.
    """

    def __init__(self, sender: Sender, database: Database, clock: Clock | None = None) -> None:
        """Prepare; the thread starts with the first wake-up."""
        self._sender = sender
        self._database = database
        self._clock = clock or Clock()
        self._open_until = 0.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pending: Queue[tuple[str, str] | None] = Queue(_PENDING)

    def wake(self, queue: str, job_id: str) -> None:
        """Pass it on. Returns at once and never raises."""
        if self._thread is None:
            self._start()
        try:
            self._pending.put_nowait((str(queue), job_id))
        except Full:
            # The sweep finds the job within half a second of its turn.
            _log.warning("wake-up dropped: too many wait")

    def stop(self) -> None:
        """Send what waits and end the thread."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        try:
            self._pending.put(None, timeout=_STOP_SECONDS)
        except Full:
            _log.warning("wake-ups dropped at the end", number=self._pending.qsize())
        thread.join(_STOP_SECONDS)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="wake", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        last = False
        while not last:
            batch, last = self._take()
            try:
                self._pass_on(batch)
            except DatabaseAway as error:
                _log.warning("wake-ups dropped: the database is away", detail=error.detail)
            except Exception:  # noqa: BLE001 - a loop top: the sweep finds the jobs
                _log.exception("wake-ups dropped", number=len(batch))
        self._sender.close()

    def _take(self) -> tuple[list[tuple[str, str]], bool]:
        """Return what waits, at least one, and whether the end was among it."""
        batch = []
        wake = self._pending.get()
        while wake is not None:
            batch.append(wake)
            if len(batch) == _BATCH:
                return batch, False
            try:
                wake = self._pending.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _pass_on(self, batch: Sequence[tuple[str, str]]) -> None:
        if not self._sent(batch):
            notify_wakes(self._database, batch)

    def _sent(self, batch: Sequence[tuple[str, str]]) -> bool:
        if self._clock.monotonic() < self._open_until:
            return False
        try:
            self._sender.send(batch)
        except Exception as error:  # noqa: BLE001 - whatever the sender's library raises
            self._open_until = self._clock.monotonic() + _OPEN_SECONDS
            _log.warning("the broker does not answer", error=type(error).__name__)
            return False
        return True


class CelerySender:
    """Sends each wake-up as a Celery message of its queue."""

    def __init__(self, redis_url: str) -> None:
        """Prepare; Celery is imported with the first message."""
        self._producer = Producer(redis_url)

    def send(self, wakes: Sequence[tuple[str, str]]) -> None:
        """Send these (queue, job)."""
        for queue, job_id in wakes:
            self._producer.send(queue, RUN_JOB, [job_id])

    def close(self) -> None:
        """Close the connection."""
        self._producer.close()


class Producer:
    """A Celery app that only publishes, by name. For one thread."""

    def __init__(self, redis_url: str) -> None:
        """Prepare; Celery is imported and the broker reached with the first message."""
        self._redis_url = redis_url
        self._app: Celery | None = None

    def send(self, queue: str, task: str, args: Sequence[str]) -> None:
        """Publish one message. Raises whatever the library does, within about a second."""
        app = self._app or self._make()
        try:
            app.send_task(task, args=list(args), queue=queue, ignore_result=True, retry=False)
        except Exception:
            # A connection that failed once is not to be trusted with the next message.
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next message opens another."""
        app, self._app = self._app, None
        if app is not None:
            app.close()

    def _make(self) -> Celery:
        # Half a second of imports that no CLI command should pay.
        from celery import Celery  # noqa: PLC0415 - see above

        app = Celery("habakkuk-wake", set_as_current=False)
        app.conf.update(producer_settings(self._redis_url))
        self._app = app
        return app
