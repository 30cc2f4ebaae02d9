"""Jobs, what they wait for, and the processes that run them (design: blueprint §5)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Sequence,
    SmallInteger,
    Text,
    func,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from habakkuk.db.models.base import Base, Big, Created, Key

FENCE = Sequence("fence_seq", metadata=Base.metadata)
_ALIVE = "state IN ('pending', 'running', 'waiting')"


class Job(Base):
    """One piece of durable work. The unique index on running keys is the guarantee of order."""

    __tablename__ = "jobs"

    id: Mapped[Key]
    seq: Mapped[int] = mapped_column(BigInteger, Identity(always=True))
    kind: Mapped[str]
    queue: Mapped[str]
    serial_key: Mapped[str | None]
    priority: Mapped[int] = mapped_column(SmallInteger, server_default="5")
    payload: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    state: Mapped[str] = mapped_column(server_default="pending")
    attempt: Mapped[int] = mapped_column(server_default="0")
    crashes: Mapped[int] = mapped_column(server_default="0")
    max_attempts: Mapped[int] = mapped_column(server_default="5")
    run_at: Mapped[datetime] = mapped_column(server_default=func.now())
    cancel_requested: Mapped[bool] = mapped_column(server_default="false")
    fence: Mapped[Big | None]
    owner: Mapped[str | None]
    owner_lock: Mapped[int | None]
    lease_until: Mapped[datetime | None]
    result: Mapped[dict[str, Any] | None]
    error: Mapped[str | None]
    created: Mapped[Created]
    finished: Mapped[datetime | None]

    __table_args__ = (
        CheckConstraint(
            "state IN ('pending', 'running', 'waiting', 'done', 'failed', 'cancelled')",
            name="state_known",
        ),
        Index(
            "jobs_one_running",
            "serial_key",
            unique=True,
            postgresql_where=text("state = 'running' AND serial_key IS NOT NULL"),
        ),
        Index(
            "jobs_pending",
            "queue",
            "priority",
            "run_at",
            "seq",
            postgresql_where=text("state = 'pending'"),
        ),
        Index("jobs_key_alive", "serial_key", "seq", postgresql_where=text(_ALIVE)),
        Index("jobs_running", "id", postgresql_where=text("state = 'running'")),
        # Whether a new message stands behind something open is told with its acceptance.
        Index("jobs_waiting", "serial_key", postgresql_where=text("state = 'waiting'")),
        # Every call that changes a workspace asks whether one is at work there.
        Index(
            "jobs_undos_alive",
            "id",
            postgresql_where=text("kind = 'undo' AND state IN ('pending', 'running')"),
        ),
        Index("jobs_ended", "state", "finished", postgresql_where=text("finished IS NOT NULL")),
    )


class Wait(Base):
    """What a waiting job waits for: an approval, an answer, a child's end."""

    __tablename__ = "waits"

    id: Mapped[Key]
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    payload: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    expires_at: Mapped[datetime | None]
    created: Mapped[Created]
    resolved_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    answer: Mapped[dict[str, Any] | None]
    consumed_at: Mapped[datetime | None]

    __table_args__ = (
        Index("waits_open", "expires_at", postgresql_where=text("resolved_at IS NULL")),
    )


class Worker(Base):
    """A process that is or was there. It is alive while its presence lock is held."""

    __tablename__ = "workers"

    id: Mapped[Key]
    role: Mapped[str]
    host: Mapped[str]
    pid: Mapped[int]
    owner_lock: Mapped[int]
    queues: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    config_hash: Mapped[str]
    version: Mapped[str]
    started: Mapped[Created]
    seen: Mapped[Created]
