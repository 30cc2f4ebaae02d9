"""Takes a turn's message of progress away: now, or in a delivery of its own later.

No answer waits for that. What the platform does not do now becomes a delivery without words, which
is tried again as every other is: after the wait that was asked for, over deaths, for a day.
"""

from __future__ import annotations

from dataclasses import dataclass

from habakkuk.channels.contract import NotSent
from habakkuk.channels.registry import Adapter
from habakkuk.conversations.store import outgoing
from habakkuk.conversations.types import Target
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.ids import derive
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database
from habakkuk.delivery import store

_log = get_logger("delivery.drafts")
# After a failure whose platform names no wait.
_SOON_SECONDS = 2.0


@dataclass(frozen=True)
class Draft:
    """A message of progress of a turn that has ended; `id` is the platform's."""

    turn_id: str
    target: Target
    id: str


def take_away(database: Database, failpoints: Failpoints, adapter: Adapter, draft: Draft) -> None:
    """Take it away, or see to it that a delivery does. What is taken away twice is no error."""
    try:
        adapter.undraft(draft.target.chat, draft.id)
    except NotSent as error:
        if error.retryable:
            _put_off(database, draft, error.retry_after)
            return
        _log.warning("a message of progress stays", turn=draft.turn_id, reason=str(error))
    failpoints.hit("draft.remove.after")
    store.drop_draft(database, draft.turn_id, draft.id)


def _put_off(database: Database, draft: Draft, wait: float | None) -> None:
    delivery, seconds = derive("dl", "draft", draft.turn_id, draft.id), wait or _SOON_SECONDS
    with database.transaction() as work:
        outgoing.put_off_removal(work, delivery, draft.turn_id, draft.target, draft.id, seconds)
