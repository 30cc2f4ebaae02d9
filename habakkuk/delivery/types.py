"""Deliveries as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from habakkuk.conversations.files import Attached, files_of
from habakkuk.conversations.types import Target


class DeliveryState(StrEnum):
    """The life of a delivery. HELD waits for a person; EXPIRED was too late to be of use."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    HELD = "held"
    EXPIRED = "expired"


class ChunkState(StrEnum):
    """Where one message stands. SENDING found by a later run is as UNKNOWN."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    UNKNOWN = "unknown"
    FAILED = "failed"


@dataclass(frozen=True)
class Chunk:
    """One message of the platform, numbered from 1; `key` is the same for every repeat."""

    n: int
    key: str
    body: str
    state: ChunkState


@dataclass(frozen=True)
class Mark:
    """What became of a chunk; `uncertain` when the platform may show it twice."""

    n: int
    state: ChunkState
    platform_id: str | None = None
    uncertain: bool = False


@dataclass(frozen=True)
class Delivery:
    """One answer on its way. `chunks` is empty before it was split; `buttons` are label, data.

    `draft` is the message of progress that its turn, which has ended, has left.
    """

    id: str
    turn_id: str | None
    target: Target
    text: str
    kind: str
    data: dict[str, Any]
    state: DeliveryState
    created: datetime
    chunks: Sequence[Chunk]
    buttons: Sequence[tuple[str, str]] = ()
    draft: str | None = None

    @property
    def file(self) -> Attached | None:
        """The file that it brings."""
        return next(iter(files_of(self.data)), None)

    @property
    def poll(self) -> dict[str, Any] | None:
        """The poll that it puts: question, options, multiple."""
        return self.data.get("poll")

    @property
    def removal(self) -> str | None:
        """The message of progress that it takes away; then it says nothing."""
        return self.data.get("draft")
