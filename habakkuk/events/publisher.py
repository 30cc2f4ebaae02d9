"""Publish live events from a worker, in one command a flush, off the thread that reads the model.

The first delta of a step goes at once; later ones of the same step gather for up to 20 ms, and so
does that a turn began: a fast model's first words go along with it. Redis being away drops events
and nothing else.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from redis import Redis
from redis.commands.core import Script

from habakkuk.core.log import get_logger
from habakkuk.core.redis import RedisAway, RedisGate
from habakkuk.events.types import LIVE_CHANNEL, Event, EventType, stream_key

_log = get_logger("events")
_GATHER_SECONDS = 0.02
_MAX_EVENTS = 2000  # a session's stream; a turn of 2,000 gathered deltas is 40 s of streaming
_KEEP_RUNNING_SECONDS = 86_400
_KEEP_ENDED_SECONDS = 60
_MAX_QUEUED = 20_000
# One command for all of a batch: a pipeline of three a piece costs its client four times as much.
# A stale worker's event has a lower id than its stream's last one: Redis refuses it there, and
# whoever looks live tells by the fence.
_PUBLISH = """
for n = 3, #ARGV, 4 do
  redis.pcall('XADD', ARGV[n], 'MAXLEN', ARGV[2], ARGV[n + 1], 'e', ARGV[n + 2])
  redis.call('PUBLISH', ARGV[1], ARGV[n + 2])
  if ARGV[n + 3] ~= '0' then redis.call('EXPIRE', ARGV[n], ARGV[n + 3]) end
end
"""
_DELTAS = {EventType.TEXT, EventType.THINKING}
_CALM = {EventType.TURN_STARTED}
_ENDS = {EventType.TURN_ENDED, EventType.TURN_WAITING}


class Publisher:
    """One per worker process."""

    def __init__(self, gate: RedisGate | None) -> None:
        """Publish through `gate`; without one every event is dropped."""
        self._gate = gate
        self._queue: deque[Event] = deque(maxlen=_MAX_QUEUED)
        self._condition = threading.Condition()
        self._urgent = False
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._script: Script | None = None

    def publish(self, event: Event, *, urgent: bool) -> None:
        """Queue one event; `urgent` ends the gathering at once."""
        gate = self._gate
        if gate is None or gate.away:
            return
        with self._condition:
            waking = urgent or not self._queue
            last = self._queue[-1] if self._queue else None
            if last is not None and _continues(last, event):
                self._queue[-1] = _joined(last, event)
            else:
                self._queue.append(event)
            self._urgent = self._urgent or urgent
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(
                    target=self._run, args=(gate,), name="events", daemon=True
                )
                self._thread.start()
            if waking:
                self._condition.notify()

    def stop(self) -> None:
        """Send what is queued and end the thread."""
        with self._condition:
            self._stopped = True
            self._urgent = True
            self._condition.notify()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _run(self, gate: RedisGate) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._queue or self._stopped)
                self._condition.wait_for(lambda: self._urgent, timeout=_GATHER_SECONDS)
                batch = list(self._queue)
                self._queue.clear()
                self._urgent = False
                if not batch and self._stopped:
                    return
            self._send(gate, batch)

    def _send(self, gate: RedisGate, batch: list[Event]) -> None:
        def send(client: Redis) -> None:
            if self._script is None:
                self._script = client.register_script(_PUBLISH)
            self._script(args=_arguments(batch))

        try:
            gate.call(send)
        except RedisAway:
            _log.info("live events dropped, Redis is away", events=len(batch))
        except Exception:  # noqa: BLE001 - the top of the thread: a view may not end it
            _log.exception("live events dropped", events=len(batch))


def _arguments(batch: list[Event]) -> list[str | int]:
    """Return four an event: the streams are among them, since there is one server."""
    arguments: list[str | int] = [LIVE_CHANNEL, _MAX_EVENTS]
    for event in batch:
        keep = 0
        if event.type is EventType.TURN_STARTED:
            keep = _KEEP_RUNNING_SECONDS
        elif event.type in _ENDS:
            keep = _KEEP_ENDED_SECONDS
        arguments += [stream_key(event.session), f"{event.fence}-{event.number}", event.encode()]
        arguments.append(keep)
    return arguments


def _continues(last: Event, event: Event) -> bool:
    return (
        event.type in _DELTAS
        and last.type is event.type
        and (last.turn, last.fence, last.step) == (event.turn, event.fence, event.step)
    )


def _joined(last: Event, event: Event) -> Event:
    data = last.data | {"text": last.data["text"] + event.data["text"]}
    return Event(event.type, event.session, event.turn, event.fence, event.number, event.step, data)


class TurnEvents:
    """The events of one claim of one turn: numbers them and knows when to hurry."""

    def __init__(self, publisher: Publisher, session: str, turn: str, fence: int) -> None:
        """Start at 1; the fence makes the numbers of a later claim higher."""
        self._publisher = publisher
        self._session = session
        self._turn = turn
        self._fence = fence
        self._number = 0
        self._lock = threading.Lock()
        self._streaming: tuple[EventType, int] | None = None

    def emit(self, kind: EventType, step: int = 0, **data: Any) -> None:
        """Publish one event; all go at once but a turn's beginning and a step's later deltas."""
        with self._lock:
            self._number += 1
            delta = kind in _DELTAS
            urgent = kind not in _CALM and (not delta or self._streaming != (kind, step))
            self._streaming = (kind, step) if delta else None
            event = Event(kind, self._session, self._turn, self._fence, self._number, step, data)
            self._publisher.publish(event, urgent=urgent)
