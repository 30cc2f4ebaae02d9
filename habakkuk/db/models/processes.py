"""Commands in the background, kept by the `processes` service."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKey,
    Identity,
    Index,
    LargeBinary,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from habakkuk.db.models.base import Base, Created, Key


class Process(Base):
    """One command that an agent started to stay. It outlives its session: nothing refers to it.

    `keeper` is the run of the service that took it, None before; `notified` is when its end became
    a turn, or was found to have nobody to tell. `typed` is the end of what it was given while it
    runs, `inputs` how many times: what comes next is judged together with it.
    """

    __tablename__ = "processes"

    id: Mapped[Key]
    agent: Mapped[str]
    session_id: Mapped[str]
    turn_id: Mapped[str]
    command: Mapped[str]
    folder: Mapped[str]
    place: Mapped[list[Any] | None]
    seconds: Mapped[float | None] = mapped_column(Double)
    notify: Mapped[bool] = mapped_column(server_default="false")
    state: Mapped[str] = mapped_column(server_default="starting")
    keeper: Mapped[str | None]
    code: Mapped[int | None]
    reason: Mapped[str] = mapped_column(server_default="")
    created: Mapped[Created]
    started: Mapped[datetime | None]
    finished: Mapped[datetime | None]
    kill_asked: Mapped[datetime | None]
    notified: Mapped[datetime | None]
    typed: Mapped[bytes] = mapped_column(LargeBinary, server_default="")
    inputs: Mapped[int] = mapped_column(server_default="0")

    __table_args__ = (
        CheckConstraint(
            "state IN ('starting', 'running', 'exited', 'timed_out', 'killed', 'failed', 'stopped',"
            " 'lost')",
            name="state_known",
        ),
        Index("processes_agent", "agent", "created"),
        Index(
            "processes_alive", "created", postgresql_where=text("state IN ('starting', 'running')")
        ),
        Index(
            "processes_untold",
            "finished",
            postgresql_where=text("notify AND notified IS NULL AND finished IS NOT NULL"),
        ),
    )


class ProcessInput(Base):
    """Something to write to a process, once. Its data goes when the service has it."""

    __tablename__ = "process_inputs"

    process_id: Mapped[str] = mapped_column(
        ForeignKey("processes.id", ondelete="CASCADE"), primary_key=True
    )
    key: Mapped[Key]
    seq: Mapped[int] = mapped_column(BigInteger, Identity(always=True))
    data: Mapped[bytes] = mapped_column(LargeBinary)
    eof: Mapped[bool]
    outcome: Mapped[str | None]
    created: Mapped[Created]

    __table_args__ = (
        CheckConstraint("outcome IN ('taken', 'written', 'closed')", name="outcome_known"),
        Index("process_inputs_new", "seq", postgresql_where=text("outcome IS NULL")),
    )
