"""The wake-up port: "look at job X". It may be lost or doubled; the row and the sweep decide."""

from __future__ import annotations

from typing import Protocol


class Wake(Protocol):
    """Tells the workers of a queue that a job is there."""

    def wake(self, queue: str, job_id: str) -> None:
        """Pass it on. Returns at once and never raises."""
        ...


class MemoryWake:
    """Keeps what it was told, for tests."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.woken: list[tuple[str, str]] = []

    def wake(self, queue: str, job_id: str) -> None:
        """Remember it."""
        self.woken.append((str(queue), job_id))
