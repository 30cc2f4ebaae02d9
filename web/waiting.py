"""Wait for the end of a turn without a database connection, and without Redis."""

from __future__ import annotations

import time
from collections.abc import Callable

from habakkuk.accounts.types import Principal
from habakkuk.bootstrap import Container
from habakkuk.conversations.types import Turn
from habakkuk.core.errors import Unavailable

# A notification may be lost while the listener's own connection is made again.
_LOOK_SECONDS = 5.0


def wait_for_end(
    container: Container,
    principal: Principal,
    turn_id: str,
    gone: Callable[[], bool],
    seconds: float | None = None,
) -> Turn:
    """Return the turn once it has ended, the client has `gone` or the time is over.

    Raises NotFound.
    """
    ends = None if seconds is None else time.monotonic() + seconds
    with container.done.watching(turn_id) as ended:
        while True:
            ended.clear()
            turn = _look(container, principal, turn_id)
            left = _LOOK_SECONDS if ends is None else min(_LOOK_SECONDS, ends - time.monotonic())
            if turn is not None and (turn.ended is not None or left <= 0 or gone()):
                return turn
            ended.wait(max(left, 0.1))


def _look(container: Container, principal: Principal, turn_id: str) -> Turn | None:
    """Return the turn, None while the database is away: the turn goes on when it is back."""
    try:
        return container.conversations.turn(principal, turn_id)
    except Unavailable:
        return None
