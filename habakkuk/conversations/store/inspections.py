"""What is stored of requests to models beside the transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import text

from habakkuk.db.engine import Database

_PARTS = text("SELECT prompt_parts FROM sessions WHERE id = :session_id")
_CALLS = text("""
    SELECT at, provider || '/' || model AS model, purpose, outcome, input, cache_read AS cached,
           output, seconds, first_token, cost
    FROM usage WHERE turn_id = :turn_id ORDER BY at, id
""")


@dataclass(frozen=True)
class SeenCall:
    """A model call of a turn, as it was recorded. `cost` in USD, None where no price is known."""

    at: datetime
    model: str
    purpose: str
    outcome: str
    input: int
    cached: int
    output: int
    seconds: float
    first_token: float | None
    cost: Decimal | None

    @property
    def answered(self) -> bool:
        """Whether it is one that the turn went on with."""
        return self.purpose == "answer" and self.outcome == "answered"


def prompt_parts(database: Database, session_id: str) -> list[tuple[str, str]]:
    """Return (name, text) of what a session's frozen prompt was made of."""
    rows = database.run(_PARTS, session_id=session_id)
    return [(part["name"], part["text"]) for part in (rows[0].prompt_parts or [])] if rows else []


def calls_of(database: Database, turn_id: str) -> Sequence[SeenCall]:
    """Return the model calls of a turn, oldest first."""
    return [SeenCall(**row._asdict()) for row in database.run(_CALLS, turn_id=turn_id)]
