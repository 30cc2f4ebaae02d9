"""Jobs and waits as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Queue(StrEnum):
    """Where a job waits for a slot. A pool each, so that parents never starve children."""

    TURNS = "turns"
    SUBTURNS = "subturns"
    DELIVERIES = "deliveries"
    SCHEDULES = "schedules"
    MAINTENANCE = "maintenance"


class JobState(StrEnum):
    """The life of a job. Alive are pending, running and waiting: they hold their serial key."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def alive(self) -> bool:
        """Whether the job has not ended."""
        return self in {JobState.PENDING, JobState.RUNNING, JobState.WAITING}


@dataclass(frozen=True)
class NewJob:
    """A job to enqueue. `id` is derived from what asked for it; `delay` is in seconds."""

    id: str
    kind: str
    queue: Queue
    payload: dict[str, Any] = field(default_factory=dict)
    serial_key: str | None = None
    priority: int = 5
    delay: float = 0.0
    max_attempts: int = 5


@dataclass(frozen=True)
class Job:
    """One row. `attempt` counts failures, `crashes` takeovers; `fence` is None before a claim."""

    id: str
    seq: int
    kind: str
    queue: str
    serial_key: str | None
    payload: dict[str, Any]
    state: JobState
    attempt: int
    crashes: int
    max_attempts: int
    cancel_requested: bool
    fence: int | None
    owner: str | None
    error: str | None
    run_at: datetime
    created: datetime
    finished: datetime | None


@dataclass(frozen=True)
class NewWait:
    """Something a job waits for. `expires_in` is in seconds; None waits for ever."""

    id: str
    kind: str
    payload: dict[str, Any] = field(default_factory=dict)
    expires_in: float | None = None


@dataclass(frozen=True)
class Wait:
    """One wait of a job. `outcome` is None while open, else what resolved it."""

    id: str
    job_id: str
    kind: str
    payload: dict[str, Any]
    outcome: str | None
    answer: dict[str, Any] | None
    consumed: bool
    expires_at: datetime | None


EXPIRED = "expired"
CANCELLED = "cancelled"
