"""Hear that jobs end, over PostgreSQL, so that a waiting request ends without Redis.

The connection that hears it hears other channels, too, for those who need to know as surely.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import orjson

from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.db.listen import listening

DONE_CHANNEL = "hab_done"
_log = get_logger("jobs.done")
_RECONNECT_SECONDS = 1.0
_POLL_SECONDS = 1.0


class Hearer(Protocol):
    """Somebody else who must know at once: told what comes over `channel`, and of silence."""

    @property
    def channel(self) -> str:
        """What to listen to."""
        ...

    def told(self, payload: str) -> None:
        """Take a notification."""
        ...

    def began(self) -> None:
        """Note that everything is told from now on."""
        ...

    def ended(self) -> None:
        """Note that nothing is told any more."""
        ...


class DoneListener:
    """One per process that waits for jobs. `on_key` is told the serial key of every ended job.

    `others` hear further channels over the same connection.
    """

    def __init__(
        self,
        database: Database,
        on_key: Callable[[str], None] | None = None,
        others: Sequence[Hearer] = (),
    ) -> None:
        """Listen from the first wait on."""
        self._database = database
        self._on_key = on_key
        self._others = {other.channel: other for other in others}
        self._lock = threading.Lock()
        self._waiting: dict[str, set[threading.Event]] = defaultdict(set)
        self._thread: threading.Thread | None = None
        self._listening = threading.Event()
        self._stopped = threading.Event()

    def begin(self) -> None:
        """Start to listen, once, without waiting for the database."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="done", daemon=True)
                self._thread.start()

    def start(self) -> None:
        """Start to listen; return when the database is heard or after a second."""
        self.begin()
        self._listening.wait(timeout=_RECONNECT_SECONDS)

    def stop(self) -> None:
        """End the listener."""
        self._stopped.set()

    @contextmanager
    def watching(self, job_id: str) -> Iterator[threading.Event]:
        """Yield an event that is set when the job may have ended.

        Look at the row before waiting on it, and again whenever it is set.
        """
        self.start()
        event = threading.Event()
        with self._lock:
            self._waiting[job_id].add(event)
        try:
            yield event
        finally:
            with self._lock:
                self._waiting[job_id].discard(event)
                if not self._waiting[job_id]:
                    del self._waiting[job_id]

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._listen()
            except DatabaseAway as error:
                _log.info("cannot hear ended jobs", reason=error.detail)
            except Exception:  # noqa: BLE001 - a loop top: who waits would wait for ever
                _log.exception("hearing ended jobs failed")
            self._stopped.wait(_RECONNECT_SECONDS)

    def _listen(self) -> None:
        channels = (DONE_CHANNEL, *self._others)
        with listening(self._database, "habakkuk done", *channels) as notifications:
            self._listening.set()
            self._wake_all()
            self._each(lambda other: other.began())
            try:
                while not self._stopped.is_set():
                    for channel, payload in notifications.wait(_POLL_SECONDS):
                        self._pass_on(channel, payload)
            finally:
                self._each(lambda other: other.ended())

    def _each(self, act: Callable[[Hearer], None]) -> None:
        for other in self._others.values():
            act(other)

    def _pass_on(self, channel: str, payload: str) -> None:
        if channel in self._others:
            self._others[channel].told(payload)
        else:
            self._dispatch(payload)

    def _dispatch(self, payload: str) -> None:
        ended = orjson.loads(payload)
        with self._lock:
            for event in self._waiting.get(ended["job"], ()):
                event.set()
        if self._on_key is not None and ended.get("key"):
            self._on_key(ended["key"])

    def _wake_all(self) -> None:
        """Let everybody look at the rows: what ended while nobody listened is not told again."""
        with self._lock:
            for events in self._waiting.values():
                for event in events:
                    event.set()
