"""A thread that does one thing again and again, and survives every failure of it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from habakkuk.core.log import get_logger
from habakkuk.db.engine import DatabaseAway

_log = get_logger("jobs.loop")
_AFTER_FAILURE_SECONDS = 1.0
_JOIN_SECONDS = 3.0


class Loop:
    """Calls `action`, which returns the seconds until its next call."""

    def __init__(self, name: str, action: Callable[[], float]) -> None:
        """Prepare the thread."""
        self._name = name
        self._action = action
        self._stopping = threading.Event()
        self._kicked = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @property
    def stopping(self) -> bool:
        """Whether the loop was told to end."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def kick(self) -> None:
        """Call the action now, whatever pause it wanted."""
        self._kicked.set()

    def stop(self) -> None:
        """Tell the loop to end and wait a little for it."""
        self._stopping.set()
        self._kicked.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_SECONDS)

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._kicked.clear()
            pause = self._once()
            if not self._stopping.is_set():
                self._kicked.wait(pause)

    def _once(self) -> float:
        try:
            return self._action()
        except DatabaseAway as error:
            _log.warning("the database is away", loop=self._name, detail=error.detail)
        except Exception:  # noqa: BLE001 - a loop top: logged, tried again
            _log.exception("loop failed", loop=self._name)
        return _AFTER_FAILURE_SECONDS
