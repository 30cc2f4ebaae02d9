"""Approvals as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

APPROVAL = "approval"
# Seed, Permissions: a chat has 15 minutes, then the step is skipped.
EXPIRES_SECONDS = 15 * 60.0

# The key in the data of a chat row that puts a question again, for the question's id.
AGAIN = "approval_again"

# The outcome of a question that could not be put to anybody.
UNDELIVERED = "undelivered"


class Answer(StrEnum):
    """What a person can say. SESSION covers the very same call again in this session."""

    ONCE = "once"
    SESSION = "session"
    DENY = "deny"


@dataclass(frozen=True)
class Approval:
    """One question. `outcome` is None while it is open, else what answered or ended it."""

    id: str
    turn_id: str
    session_id: str
    conversation_id: str
    user_id: str | None
    agent: str
    tool: str
    input: dict[str, Any]
    folder: str
    why: str
    may_repeat: bool
    fingerprint: str
    created: datetime
    expires_at: datetime | None
    outcome: str | None
