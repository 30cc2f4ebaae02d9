"""How the server is, for whoever watches it: no token, no detail, never slow."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Literal

from flask import Response
from pydantic import BaseModel

from habakkuk.bootstrap import Container
from habakkuk.core.errors import Unavailable
from habakkuk.ops.schema import schema_fault
from web.answers import json_answer

_FRESH_SECONDS = 1.0
# A frozen PostgreSQL accepts what it does not answer: a look at it can take half a minute.
_PATIENT_SECONDS = 3.0


class HealthBody(BaseModel):
    """What /healthz says. `degraded` names what is away while the server goes on."""

    status: Literal["ok", "down"]
    degraded: list[str]
    reason: str | None = None


@dataclass
class _Look:
    """One look at the servers; until it is over they count as down."""

    body: HealthBody = field(
        default_factory=lambda: HealthBody(status="down", degraded=["postgresql"])
    )
    over: threading.Event = field(default_factory=threading.Event)
    until: float = 0.0


class Health:
    """Looks at the servers at most once a second, whoever asks how often, one look at a time."""

    def __init__(self, container: Container, patience: float = _PATIENT_SECONDS) -> None:
        """Look through the parts of this process; nobody waits longer than `patience` seconds."""
        self._container = container
        self._patience = patience
        self._lock = threading.Lock()
        self._schema_right = False
        self._schema_problem: str | None = None
        self._schema_until = 0.0
        self._latest: _Look | None = None

    def require_schema(self) -> None:
        """Return when the database has this code's schema. Raises Unavailable until then."""
        if self._schema_right:
            return
        problem = self._problem()
        if problem is not None:
            raise Unavailable(problem, retry_after=2)

    def answer(self) -> Response:
        """Return what /healthz answers."""
        look = self._look()
        look.over.wait(self._patience)
        body = look.body
        status = 200 if body.status == "ok" else 503
        return json_answer(body.model_dump(exclude_none=True), status)

    def _look(self) -> _Look:
        """Return the latest look, begun now when that is over and no longer fresh."""
        with self._lock:
            look = self._latest
            stale = look is not None and self._container.clock.monotonic() >= look.until
            if look is None or (look.over.is_set() and stale):
                look = self._latest = _Look()
                threading.Thread(target=self._see, args=(look,), name="health", daemon=True).start()
            return look

    def _see(self, look: _Look) -> None:
        try:
            look.body = self._ask()
        finally:
            look.until = self._container.clock.monotonic() + _FRESH_SECONDS
            look.over.set()

    def _ask(self) -> HealthBody:
        degraded = self._container.degraded()
        if self._container.database_away():
            return HealthBody(status="down", degraded=["postgresql", *degraded])
        try:
            self.require_schema()
        except Unavailable as error:
            return HealthBody(status="ok", degraded=["schema", *degraded], reason=str(error))
        return HealthBody(status="ok", degraded=degraded)

    def _problem(self) -> str | None:
        now = self._container.clock.monotonic()
        if now >= self._schema_until:
            self._schema_problem = schema_fault(self._container.settings)
            self._schema_until = self._container.clock.monotonic() + _FRESH_SECONDS
            self._schema_right = self._schema_problem is None
        return self._schema_problem
