"""What is shown on platforms beside messages: best effort, and never in a turn's way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from habakkuk.channels.contract import Feature
from habakkuk.channels.registry import Adapter, Channels, Line
from habakkuk.core.errors import ChannelError, ConfigurationError
from habakkuk.core.log import get_logger

_log = get_logger("delivery.asides")
_AT_ONCE = 8


class Asides:
    """The threads in which platforms are asked. They begin with the first thing to show."""

    def __init__(self, channels: Channels) -> None:
        """Use the accounts of this process."""
        self._channels = channels
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def line(self, account: str) -> Line | None:
        """Return an account, None when there is none that works."""
        try:
            return self._channels.line(account)
        except ConfigurationError:
            return None

    def able(self, account: str, feature: Feature) -> Line | None:
        """Return an account whose platform can do something, else None."""
        line = self.line(account)
        return line if line is not None and feature in line.adapter.manifest.features else None

    def submit(self, action: Callable[[], None]) -> None:
        """Run `action` in a thread, soon; after `stop` not at all."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="asides")
            pool = self._pool
        with suppress(RuntimeError):
            pool.submit(_logged, action)

    def ask(
        self, account: str, what: str, call: Callable[[Adapter], object]
    ) -> ChannelError | None:
        """Ask a platform for something; return why it was not done, None when it was."""
        line = self.line(account)
        if line is None:
            return None
        try:
            call(line.adapter)
        except ChannelError as error:
            _log.debug("something is not shown", what=what, account=account, reason=str(error))
            return error
        return None

    def stop(self) -> None:
        """Show nothing any more."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _logged(action: Callable[[], None]) -> None:
    try:
        action()
    except Exception:  # noqa: BLE001 - the top of a thread's work; nobody looks at its future
        _log.exception("something could not be shown")
