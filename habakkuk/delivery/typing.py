"""Shows on platforms that an answer is on its way, for as long as a turn runs (seed, Channels)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from habakkuk.channels.contract import Feature
from habakkuk.conversations.types import Target
from habakkuk.delivery.asides import Asides
from habakkuk.jobs.loop import Loop

# Platforms take the sign away after five seconds or more.
_EVERY_SECONDS = 4.0
_IDLE_SECONDS = 3600.0

_Place = tuple[str, str, str]


class Typing:
    """The places where turns of this process run. Its thread begins with the first of them."""

    def __init__(self, asides: Asides) -> None:
        """Show it by these threads."""
        self._asides = asides
        self._lock = threading.Lock()
        self._places: Counter[_Place] = Counter()
        self._refused: set[_Place] = set()
        # Asked for and not answered yet: a platform that hangs is not asked once more.
        self._busy: set[_Place] = set()
        self._loop: Loop | None = None

    @contextmanager
    def showing(self, target: Target | None) -> Iterator[None]:
        """Show it at `target` inside the block; best effort, a turn never waits for it."""
        if target is None or self._asides.able(target.account, Feature.TYPING) is None:
            yield
            return
        place = (target.account, target.chat, target.thread)
        self._enter(place)
        try:
            yield
        finally:
            self._leave(place)

    def stop(self) -> None:
        """Show nothing any more."""
        if self._loop is not None:
            self._loop.stop()

    def _enter(self, place: _Place) -> None:
        with self._lock:
            self._places[place] += 1
            if self._loop is None:
                self._loop = Loop("typing", self._show_all)
                self._loop.start()
        self._loop.kick()

    def _leave(self, place: _Place) -> None:
        with self._lock:
            self._places[place] -= 1
            if self._places[place] <= 0:
                del self._places[place]
                self._refused.discard(place)

    def _show_all(self) -> float:
        with self._lock:
            places = [place for place in self._places if place not in self._refused]
            free = [place for place in places if place not in self._busy]
            self._busy.update(free)
        for place in free:
            self._asides.submit(partial(self._show, place))
        return _EVERY_SECONDS if places else _IDLE_SECONDS

    def _show(self, place: _Place) -> None:
        account, chat, thread = place
        refused = None
        try:
            if self._is_wanted(place):
                refused = self._asides.ask(account, "typing", lambda to: to.typing(chat, thread))
        finally:
            with self._lock:
                self._busy.discard(place)
                if refused is not None and place in self._places:
                    self._refused.add(place)

    def _is_wanted(self, place: _Place) -> bool:
        """Whether a turn runs there still: it may have waited for a thread."""
        with self._lock:
            return place in self._places
