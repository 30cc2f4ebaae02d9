"""Shows on platforms that an answer is on its way, for as long as a turn runs (seed, Channels)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from habakkuk.channels.contract import Feature
from habakkuk.channels.registry import Channels
from habakkuk.conversations.types import Target
from habakkuk.core.errors import ChannelError, ConfigurationError
from habakkuk.core.log import get_logger
from habakkuk.jobs.loop import Loop

_log = get_logger("delivery.typing")
# Platforms take the sign away after five seconds or more.
_EVERY_SECONDS = 4.0
_IDLE_SECONDS = 3600.0
_AT_ONCE = 8

_Place = tuple[str, str, str]


class Typing:
    """The places where turns of this process run. Its threads begin with the first of them."""

    def __init__(self, channels: Channels) -> None:
        """Use the accounts of this process."""
        self._channels = channels
        self._lock = threading.Lock()
        self._places: Counter[_Place] = Counter()
        self._refused: set[_Place] = set()
        self._loop: Loop | None = None
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def showing(self, target: Target | None) -> Iterator[None]:
        """Show it at `target` inside the block; best effort, a turn never waits for it."""
        if target is None or not self._can(target.account):
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
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    def _can(self, account: str) -> bool:
        try:
            line = self._channels.line(account)
        except ConfigurationError:
            return False
        return line is not None and Feature.TYPING in line.adapter.manifest.features

    def _enter(self, place: _Place) -> None:
        with self._lock:
            self._places[place] += 1
            if self._loop is None:
                self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="typing")
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
        if not places or self._pool is None:
            return _IDLE_SECONDS
        for place in places:
            self._pool.submit(self._show, place)
        return _EVERY_SECONDS

    def _show(self, place: _Place) -> None:
        account, chat, thread = place
        try:
            line = self._channels.line(account)
            if line is not None:
                line.adapter.typing(chat, thread)
        except (ChannelError, ConfigurationError) as error:
            _log.debug("typing is not shown", account=account, reason=str(error))
            with self._lock:
                if place in self._places:
                    self._refused.add(place)
