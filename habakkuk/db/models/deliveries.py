"""What goes out to a conversation, and where each intake stands (blueprint §6, §8)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from habakkuk.db.models.base import Base, Created, Key


class Delivery(Base):
    """One outgoing message; its id derives from the turn, so a rerun makes no second one.

    Without a conversation it is for somebody who has none here, such as a stranger's code.
    """

    __tablename__ = "deliveries"

    id: Mapped[Key]
    conversation_id: Mapped[str | None] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), index=True
    )
    turn_id: Mapped[str | None] = mapped_column(index=True)
    body: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(server_default="pending")
    error: Mapped[str | None]
    created: Mapped[Created]
    finished: Mapped[datetime | None]

    __table_args__ = (
        CheckConstraint(
            "state IN ('pending', 'sending', 'sent', 'failed', 'held', 'expired')",
            name="state_known",
        ),
    )


class DeliveryChunk(Base):
    """One platform message. Found in sending after a crash, its outcome is unknown.

    `uncertain` counts the repeats that the platform may have shown twice.
    """

    __tablename__ = "delivery_chunks"

    delivery_id: Mapped[Key] = mapped_column(ForeignKey("deliveries.id", ondelete="CASCADE"))
    n: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[str]
    body: Mapped[str]
    state: Mapped[str] = mapped_column(server_default="pending")
    platform_id: Mapped[str | None]
    attempts: Mapped[int] = mapped_column(server_default="0")
    uncertain: Mapped[int] = mapped_column(server_default="0")
    updated: Mapped[Created]

    __table_args__ = (
        CheckConstraint(
            "state IN ('pending', 'sending', 'sent', 'unknown', 'failed')", name="state_known"
        ),
    )


class ChannelState(Base):
    """Where an intake stands, such as the last update id; stored with what it admitted."""

    __tablename__ = "channel_state"

    channel: Mapped[Key]
    account: Mapped[Key]
    name: Mapped[Key]
    value: Mapped[dict[str, Any]]
    updated: Mapped[Created]
