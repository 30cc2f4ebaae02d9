"""Questions as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Question:
    """What one call asks: 1 to 5 questions with their choices, answered by one text.

    `questions` are `{"question": text, "choices": [text]}`. `outcome` is None while it is open.
    `aside`: its turn runs beside the conversation's session, as one of /btw does.
    """

    id: str
    turn_id: str
    session_id: str
    conversation_id: str
    user_id: str | None
    agent: str
    questions: Sequence[dict[str, Any]]
    created: datetime
    expires_at: datetime | None
    outcome: str | None
    aside: bool = False
