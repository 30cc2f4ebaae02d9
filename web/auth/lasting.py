"""A stream outlives the check at its beginning: it ends when its credential does."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from flask import g

from habakkuk.accounts.types import Principal
from habakkuk.core.clock import Clock
from habakkuk.core.errors import Unavailable

_LOOK_SECONDS = 15.0


def until_signed_out(gone: Callable[[], bool], clock: Clock) -> Callable[[], bool]:
    """Return `gone`, which also tells when the request's token or session is good no longer."""
    look = cast("Callable[[], Principal | None]", g.recheck)
    due = clock.monotonic() + _LOOK_SECONDS
    ended = False

    def left() -> bool:
        nonlocal due, ended
        if ended or gone():
            return True
        if clock.monotonic() >= due:
            due = clock.monotonic() + _LOOK_SECONDS
            ended = _ended(look)
        return ended

    return left


def _ended(look: Callable[[], Principal | None]) -> bool:
    try:
        return look() is None
    except Unavailable:
        # Nobody was signed out by a database that is away.
        return False
