"""The one bridge from this synchronous house to libraries that know only asyncio.

Their coroutines run on one event loop in a thread of its own, so that what they keep between
calls, such as connections, lives on. A caller waits with a deadline and can be interrupted. In the
web process that thread is gevent's like every other, and the loop waits as they do.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from habakkuk.core.interrupt import Interrupt

_T = TypeVar("_T")


class Portal:
    """An event loop that starts with its first call, and anew in a fork. Thread-safe."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def run(self, coroutine: Coroutine[Any, Any, _T], interrupt: Interrupt, seconds: float) -> _T:
        """Run a coroutine to its end and return what it returns, or raise what it raises.

        Raises TimeoutError after `seconds`, and Interrupted at once when tripped; either way the
        coroutine is cancelled where it stands.
        """
        loop = self._running()
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, seconds), loop)

        def cancel() -> None:
            future.cancel()

        with interrupt.freeing(cancel):
            try:
                return future.result()
            except concurrent.futures.CancelledError:
                interrupt.check()
                raise

    def leave(self, coroutine: Coroutine[Any, Any, object]) -> concurrent.futures.Future[object]:
        """Let a coroutine run to its end, such as one that closes what nobody uses any more.

        What is returned can cancel it.
        """
        return asyncio.run_coroutine_threadsafe(coroutine, self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # A fork takes the loop's memory along, and not the thread that runs it.
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=self._loop.run_forever, name="asyncio", daemon=True).start()
            return self._loop


PORTAL = Portal()
