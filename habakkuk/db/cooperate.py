"""Let psycopg2 wait the way its process waits: under gevent its C code would stop everything."""

from __future__ import annotations

import select
import sys
from typing import Any

from psycopg2 import OperationalError
from psycopg2.extensions import (
    POLL_OK,
    POLL_READ,
    POLL_WRITE,
    STATUS_SETUP,
    set_wait_callback,
)

# What connect_timeout is for a blocking connection; libpq does not look at it here.
_CONNECT_SECONDS = 3.0
# The server ends every statement of ours after 30 s; one that says nothing by then is frozen.
_STATEMENT_SECONDS = 35.0


def cooperate_with_gevent() -> bool:
    """Make psycopg2 yield to gevent when gevent has patched this process; say whether it has."""
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is None or not monkey.is_module_patched("socket"):
        return False
    set_wait_callback(_wait)
    return True


def has_something_to_read(connection: Any) -> bool:
    """Whether bytes or an end wait on an idle connection, at once and without a round trip.

    Under gevent the patched calls would go through its hub, a dozen times a request.
    """
    monkey: Any = sys.modules.get("gevent.monkey")
    poll = (monkey.get_original("select", "poll") if monkey else select.poll)()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _wait(connection: Any, _timeout: float | None = None) -> None:
    # Only a patched process comes here, and only the web process has gevent loaded.
    from gevent.socket import wait_read, wait_write  # noqa: PLC0415 - see above

    while (state := connection.poll()) != POLL_OK:
        limit = _CONNECT_SECONDS if connection.status == STATUS_SETUP else _STATEMENT_SECONDS
        late = OperationalError(f"the server did not answer within {limit:.0f} s")
        if state == POLL_READ:
            wait_read(connection.fileno(), timeout=limit, timeout_exc=late)
        elif state == POLL_WRITE:
            wait_write(connection.fileno(), timeout=limit, timeout_exc=late)
        else:
            raise OperationalError(f"unexpected state {state} of the connection")
