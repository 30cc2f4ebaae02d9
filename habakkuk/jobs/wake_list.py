"""Wake-ups over lists in Redis: whoever enqueues pushes, a worker with a free slot pops.

A list holds hints, not work: one that is lost with the process that popped it costs the half
second until the next sweep.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redis.exceptions import RedisError

from habakkuk.core.log import get_logger
from habakkuk.core.redis import PREFIX, RedisAway, RedisGate
from habakkuk.jobs.slots import Ticket

_log = get_logger("jobs.wake")
# Nobody pops while no worker has room, and the rows say what is to be done.
_MOST = 1000
# How long one read waits: no longer than a queue whose slots were full may be left out.
_POP_SECONDS = 1
# A server that says nothing for longer is gone, and another may stand at its address.
_SILENT_SECONDS = 3.0
_PAUSE_SECONDS = 1.0
_FULL_SECONDS = 0.05
_JOIN_SECONDS = 2.0


def list_key(queue: str) -> str:
    """Return the Redis list of a queue's wake-ups."""
    return f"{PREFIX}wake:{queue}"


class ListSender:
    """Pushes wake-ups, those of a queue in one round trip."""

    def __init__(self, redis: RedisGate) -> None:
        """Push through the gate of this process."""
        self._redis = redis

    def send(self, wakes: Sequence[tuple[str, str]]) -> None:
        """Push these (queue, job). Raises RedisAway."""
        by_queue: dict[str, list[str]] = defaultdict(list)
        for queue, job_id in wakes:
            by_queue[queue].append(job_id)

        def push(client: Any) -> None:
            for queue, ids in by_queue.items():
                if client.rpush(list_key(queue), *ids) > _MOST:
                    client.ltrim(list_key(queue), -_MOST, -1)

        self._redis.call(push)

    def close(self) -> None:
        """Do nothing: the gate is the container's."""


class ListReader:
    """Pops wake-ups while this process has room, in one thread.

    `free` returns the queues with free slots, `offer` takes a job or returns None when there is no
    room for it after all: then it is pushed again, for another worker.
    """

    def __init__(
        self,
        redis: RedisGate,
        free: Callable[[], Mapping[str, int]],
        offer: Callable[[str, str], Ticket | None],
    ) -> None:
        """Prepare the thread."""
        self._redis = redis
        self._free = free
        self._offer = offer
        self._sender = ListSender(redis)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="wake-list", daemon=True)

    def start(self) -> None:
        """Start to pop."""
        self._thread.start()

    def tell(self) -> None:
        """Pop no more; what is popped meanwhile is pushed again. Returns at once."""
        self._stopping.set()

    def stop(self) -> None:
        """Tell it to end and wait a little for that."""
        self.tell()
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                self._read()
            except (RedisAway, RedisError, OSError) as error:
                _log.info("wake-ups are away", reason=type(error).__name__)
            except Exception:  # noqa: BLE001 - a loop top: the sweep finds the jobs
                _log.exception("reading wake-ups failed")
            self._stopping.wait(_PAUSE_SECONDS)

    def _read(self) -> None:
        client: Any = self._redis.blocking(_SILENT_SECONDS)
        try:
            while not self._stopping.is_set():
                queues = list(self._free())
                if not queues:
                    self._stopping.wait(_FULL_SECONDS)
                    continue
                popped = client.blpop([list_key(queue) for queue in queues], timeout=_POP_SECONDS)
                if popped is not None:
                    self._hand_over(popped[0].removeprefix(list_key("")), popped[1])
        finally:
            client.close()

    def _hand_over(self, queue: str, job_id: str) -> None:
        if self._offer(queue, job_id) is None:
            self._sender.send([(queue, job_id)])
