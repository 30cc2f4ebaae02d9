"""What a request finds around it: the parts of the process, and who is asking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import current_app, g

from habakkuk.accounts.types import Principal
from habakkuk.bootstrap import Container
from habakkuk.core.ids import random_id

_KEY = "habakkuk"


@dataclass(frozen=True)
class Site:
    """The web process's own parts."""

    container: Container


def container() -> Container:
    """Return the parts of this process."""
    return cast("Site", current_app.extensions[_KEY]).container


def principal() -> Principal:
    """Return who is asking; the guards have put them there."""
    return cast("Principal", g.principal)


def visiting() -> Principal | None:
    """Return who is asking, None on a page that is open to all."""
    return cast("Principal | None", g.get("principal"))


def request_id() -> str:
    """Return the id under which this request is logged."""
    if "request_id" not in g:
        g.request_id = random_id("req")
    return str(g.request_id)


def note_session(session_id: str) -> None:
    """Name the session in the answer's headers, whatever becomes of the request."""
    g.session_id = session_id


def noted_session() -> str | None:
    """Return the session to name in the answer's headers."""
    return cast("str | None", g.get("session_id"))
