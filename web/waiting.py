"""Wait for the end of a turn without a database connection, and without Redis."""

from __future__ import annotations

import time
from collections.abc import Callable

from habakkuk.accounts.types import Principal
from habakkuk.bootstrap import Container
from habakkuk.conversations.types import ChatMessage, Turn
from habakkuk.core.errors import Unavailable

# A notification may be lost while the listener's own connection is made again.
_LOOK_SECONDS = 5.0
_LEAST_SECONDS = 0.1


def wait_for_end(
    container: Container,
    principal: Principal,
    turn_id: str,
    gone: Callable[[], bool],
    seconds: float | None = None,
) -> tuple[Turn, ChatMessage | None]:
    """Return the turn and its reply once it has ended, the client has `gone` or the time is over.

    Raises NotFound, and Unavailable when the database is away at the end of the time.
    """
    ends = None if seconds is None else time.monotonic() + seconds
    with container.done.watching(turn_id) as ended:
        while True:
            ended.clear()
            left = _LOOK_SECONDS if ends is None else min(_LOOK_SECONDS, ends - time.monotonic())
            last = left <= 0 or gone()
            try:
                turn, reply = container.conversations.turn_with_reply(principal, turn_id)
                if last or turn.ended is not None:
                    return turn, reply
            except Unavailable:
                # The turn goes on when the database is back.
                if last:
                    raise
            ended.wait(max(left, _LEAST_SECONDS))
