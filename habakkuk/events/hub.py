"""Read live events in a process that shows them: one subscription for all its clients.

A client subscribes first, replays second and drops what it has seen, so that nothing falls
between the two.
"""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from redis.exceptions import RedisError

from habakkuk.core.log import get_logger
from habakkuk.core.redis import RedisAway, RedisGate
from habakkuk.events.types import LIVE_CHANNEL, Event, EventType, stream_key

_log = get_logger("events")
_RECONNECT_SECONDS = 1.0
_MAX_BEHIND = 5000


class Subscription:
    """The events of one session for one client; None is a hint to look at the database."""

    def __init__(self) -> None:
        """Start empty."""
        self._queue: queue.Queue[Event | None] = queue.Queue(maxsize=_MAX_BEHIND)

    def put(self, event: Event | None) -> None:
        """Add an event; a client that is too far behind loses the newest and catches up later."""
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            _log.info("a client is too slow for its live events")

    def get(self, timeout: float) -> Event | None:
        """Return the next event; None for a hint or after `timeout` seconds."""
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            return None


class LiveHub:
    """One per process that shows turns."""

    def __init__(self, gate: RedisGate | None) -> None:
        """Use `gate`; without one there are only hints."""
        self._gate = gate
        self._lock = threading.Lock()
        self._subscribers: dict[str, set[Subscription]] = defaultdict(set)
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._stopped = threading.Event()

    @contextmanager
    def subscribed(self, session: str) -> Iterator[Subscription]:
        """Receive a session's events inside this block."""
        subscription = Subscription()
        with self._lock:
            self._subscribers[session].add(subscription)
        self._start()
        try:
            yield subscription
        finally:
            with self._lock:
                self._subscribers[session].discard(subscription)
                if not self._subscribers[session]:
                    del self._subscribers[session]

    def replay(self, session: str) -> list[Event]:
        """Return what the session's stream still holds; nothing when Redis is away."""
        if self._gate is None:
            return []
        try:
            rows: Any = self._gate.call(lambda client: client.xrange(stream_key(session)))
        except RedisAway:
            return []
        events = (Event.decode(fields["e"]) for _, fields in rows)
        return [event for event in events if event is not None]

    def hint(self, session: str) -> None:
        """Tell the session's clients to look at the database (a job of it ended)."""
        with self._lock:
            targets = list(self._subscribers.get(session, ()))
        for target in targets:
            target.put(None)

    def queue_changed(self, session: str) -> None:
        """Tell the session's clients, in every process, that what waits was edited or withdrawn.

        It belongs to no turn and is not kept: who was not there sees the rows themselves.
        """
        event = Event(EventType.QUEUE_CHANGED, session, turn="", fence=0, number=0, step=0)
        gate = self._gate
        if gate is not None:
            with suppress(RedisAway):
                gate.call(lambda client: client.publish(LIVE_CHANNEL, event.encode()))
                return
        self._deliver(event)

    def stop(self) -> None:
        """End the reader with the process."""
        self._stopped.set()

    def _start(self) -> None:
        gate = self._gate
        if gate is None:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, args=(gate,), name="live", daemon=True
                )
                self._thread.start()
        self._ready.wait(timeout=_RECONNECT_SECONDS)

    def _run(self, gate: RedisGate) -> None:
        while not self._stopped.is_set():
            try:
                self._read(gate)
            except (RedisError, OSError) as error:
                _log.info("live events are away", reason=type(error).__name__)
            except Exception:  # noqa: BLE001 - a loop top: one event may not end the view of all
                _log.exception("reading live events failed")
            self._ready.set()
            self._stopped.wait(_RECONNECT_SECONDS)

    def _read(self, gate: RedisGate) -> None:
        client = gate.blocking()
        try:
            pubsub: Any = cast("Any", client).pubsub(ignore_subscribe_messages=False)
            pubsub.subscribe(LIVE_CHANNEL)
            for message in pubsub.listen():
                if self._stopped.is_set():
                    return
                if message["type"] == "subscribe":
                    self._ready.set()
                elif message["type"] == "message":
                    self._dispatch(message["data"])
        finally:
            client.close()

    def _dispatch(self, raw: str) -> None:
        event = Event.decode(raw)
        if event is not None:
            self._deliver(event)

    def _deliver(self, event: Event) -> None:
        with self._lock:
            targets = list(self._subscribers.get(event.session, ()))
        for target in targets:
            target.put(event)
