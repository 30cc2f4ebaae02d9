"""What went out, what did not, and what nobody can say of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from habakkuk.db.engine import Database
from habakkuk.delivery import store
from habakkuk.delivery.types import DeliveryState

# What a person should look at: of the rest there are as many as answers.
TROUBLED = (DeliveryState.FAILED, DeliveryState.HELD, DeliveryState.EXPIRED)


@dataclass(frozen=True)
class DeliveryReport:
    """One delivery: `sent` of its `parts` arrived; `uncertain` were sent again, unseen or seen."""

    id: str
    account: str
    chat: str
    state: DeliveryState
    parts: int
    sent: int
    unknown: int
    uncertain: int
    error: str | None
    created: datetime


class Deliveries:
    """Looks at deliveries; it holds nothing of its own."""

    def __init__(self, database: Database) -> None:
        """Use the pool of this process."""
        self._database = database

    def listed(
        self, states: Sequence[DeliveryState] = TROUBLED, *, doubtful: bool = True, limit: int = 50
    ) -> Sequence[DeliveryReport]:
        """Return deliveries in these states, the latest first.

        `doubtful`: also those of which a message may have been shown twice, or is unknown now.
        """
        rows = store.reports(self._database, states, limit, doubtful=doubtful)
        return [
            DeliveryReport(
                row.id,
                row.account,
                row.chat,
                DeliveryState(row.state),
                row.parts,
                row.sent,
                row.unknown,
                row.uncertain,
                row.error,
                row.created,
            )
            for row in rows
        ]
