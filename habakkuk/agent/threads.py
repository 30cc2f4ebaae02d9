"""The bounded pool that tools run in, apart from the turns that wait for them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

# Made as they are needed. Twice the turns of a worker: long commands of some turns should not keep
# the short calls of others waiting.
_TOOL_THREADS = 256


class ToolPool:
    """One per worker process."""

    def __init__(self, size: int = _TOOL_THREADS) -> None:
        """Threads are made as they are needed, up to `size`."""
        self._executor = ThreadPoolExecutor(size, thread_name_prefix="tool")

    def submit(self, task: Callable[[], None]) -> None:
        """Run `task` in a thread of the pool, in turn. It must not raise."""
        self._executor.submit(task)

    def stop(self) -> None:
        """Take no more tasks; running ones are not waited for."""
        self._executor.shutdown(wait=False, cancel_futures=True)
