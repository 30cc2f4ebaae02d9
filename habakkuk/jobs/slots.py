"""A bounded pool of threads for one queue, and the tickets of those who wait for a job's end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Ticket:
    """Says when an offered job was dealt with."""

    def __init__(self) -> None:
        """Start open."""
        self._done = threading.Event()

    def close(self) -> None:
        """Let the waiting go on."""
        self._done.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; False when the time was over first."""
        return self._done.wait(seconds)


Offer = tuple[str, Ticket]


class Slots:
    """As many threads as the queue may run at once, made when they are first needed.

    `serve` runs one offer in a slot and returns whether another job may wait for its end. `refill`
    then runs the next pending job, if there is one, and returns whether it did.
    """

    def __init__(
        self, name: str, size: int, serve: Callable[[str], bool], refill: Callable[[], bool]
    ) -> None:
        """Prepare the pool; no thread is started yet."""
        self._name = name
        self._size = size
        self._serve = serve
        self._refill = refill
        self._offers: SimpleQueue[Offer | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._busy = 0
        self._threads = 0
        self._missed = False
        self._closed = False

    @property
    def free(self) -> int:
        """How many offers would be taken now."""
        return 0 if self._closed else self._size - self._busy

    def offer(self, job_id: str) -> Ticket | None:
        """Take a job to run, None when every slot is busy. Returns at once."""
        with self._lock:
            if self._closed:
                return None
            if self._busy >= self._size:
                self._missed = True
                return None
            self._busy += 1
            grow = self._busy > self._threads
            if grow:
                self._threads += 1
            name = f"{self._name}-{self._threads}"
        ticket = Ticket()
        self._offers.put((job_id, ticket))
        if grow:
            threading.Thread(target=self._work, name=name, daemon=True).start()
        return ticket

    def close(self) -> None:
        """Take no more offers and let the idle threads end."""
        with self._lock:
            self._closed = True
            idle = self._threads - self._busy
        for _ in range(idle):
            self._offers.put(None)

    def _work(self) -> None:
        try:
            while (offer := self._offers.get()) is not None:
                self._run(*offer)
                if self._closed:
                    return
        finally:
            with self._lock:
                self._threads -= 1

    def _run(self, job_id: str, ticket: Ticket) -> None:
        """Run one offer, then what else is pending, and free the slot whatever happens."""
        freed = False
        try:
            try:
                more = self._serve(job_id)
            finally:
                ticket.close()
            while not freed:
                while more and not self._closed:
                    more = self._refill()
                freed = self._free()
                more = True
        finally:
            if not freed:
                with self._lock:
                    self._busy -= 1

    def _free(self) -> bool:
        """Free the slot unless an offer was refused meanwhile: its job is then looked for first."""
        with self._lock:
            if self._missed and not self._closed:
                self._missed = False
                return False
            self._busy -= 1
            return True
