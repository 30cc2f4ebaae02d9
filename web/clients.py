"""Notice that a waiting client has gone, so that nobody waits for nobody."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

from flask import request


def watcher() -> Callable[[], bool]:
    """Return a function that tells whether this request's client has closed its connection."""
    environ = request.environ
    sock = environ.get("gunicorn.socket") or environ.get("werkzeug.socket")

    def gone() -> bool:
        if sock is None:
            return False
        try:
            readable, _, _ = select.select([sock], [], [], 0)
            return bool(readable) and sock.recv(1, socket.MSG_PEEK) == b""
        except (OSError, ValueError):
            return True

    return gone
